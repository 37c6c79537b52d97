// What was sent to stores of profiles, read by decoders of others.
//   node read_profiles.mjs WRITE_RAW_REQUEST PPROF
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";

// Files of Parca's package name each other without their ends, which node refuses.
const resolve = async (name, context, next) => next(name, context).catch(() => next(`${name}.js`, context));
register(`data:text/javascript,export const resolve = ${encodeURIComponent(resolve.toString())}`);
const { WriteRawRequest } = await import("@parca/client/dist/parca/profilestore/v1alpha1/profilestore.js");

const [call, form] = process.argv.slice(2).map((path) => readFileSync(path));
const { series } = WriteRawRequest.fromBinary(call);

function shown(packed) {
  const profile = Profile.decode(gunzipSync(packed));
  const text = (index) => profile.stringTable.strings[Number(index)];
  const sums = profile.sampleType.map(() => 0n);
  for (const { value } of profile.sample) value.forEach((each, i) => (sums[i] += BigInt(each)));
  return {
    types: profile.sampleType.map(({ type, unit }) => `${text(type)}/${text(unit)}`),
    samples: profile.sample.length,
    sums: sums.map(Number),
    functions: profile.function.map(({ name }) => text(name)),
  };
}

const [{ labels, samples }] = series;
console.log(
  JSON.stringify({
    labels: Object.fromEntries(labels.labels.map(({ name, value }) => [name, value])),
    parca: shown(samples[0].rawProfile),
    pyroscope: shown(form),
  }),
);
