// Puts the bundle into one HTML file that needs nothing else, under a policy that lets it run its
// own script and style and nothing more. The same bytes come out of the same sources.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

/** What the bundle contains of others. */
const BUNDLED = ["preact", "uplot"];

const DATA = '<script type="application/x-geiger" id="data"></script>';
const SCRIPT = '<script type="module" src="/src/main.tsx"></script>';

function read(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

export function licences(): string {
  const packages = BUNDLED.map((name) => {
    const { version } = JSON.parse(read(`node_modules/${name}/package.json`)) as {
      version: string;
    };
    const text = read(`node_modules/${name}/LICENSE`).replace(/\r/g, "").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return [...packages, read("build/arithmetic-licences.txt")].join("\n----\n\n");
}

/** Inline text must not end its element, nor open a comment that hides the end. */
function inlineScript(code: string): string {
  return code
    .replace(/<\/(script)/gi, "<\\/$1")
    .replace(/<!--/g, "<\\!--")
    .trim();
}

interface Parts {
  script: string;
  style: string;
}

function page(parts: Parts, data: string, connect: string): string {
  const policy = [
    "default-src 'none'",
    // Compiles the arithmetic that the script carries; allows no other script.
    `script-src ${hashOf(parts.script)} 'wasm-unsafe-eval'`,
    `style-src ${hashOf(parts.style)}`,
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const html = read("index.html");
  if (!html.includes(DATA) || !html.includes(SCRIPT))
    throw new Error("index.html has no place for data or script");
  const comment = licences().replace(/--+/g, (dashes) => "=".repeat(dashes.length));
  // Functions: a replacement's dollar signs would be taken for patterns.
  return html
    .replace(
      '<meta charset="utf-8">',
      () =>
        `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    )
    .replace("</head>", () => `<style>${parts.style}</style>\n</head>`)
    .replace(DATA, () => data)
    .replace(SCRIPT, () => `<script>${parts.script}</script>`)
    .replace(
      "</html>",
      () => `</html>\n<!-- Licences of what this page contains:\n\n${comment}-->`,
    );
}

export function template(): Plugin {
  return {
    name: "geiger-template",
    enforce: "post",
    generateBundle(_, bundle) {
      const parts: Parts = { script: "", style: "" };
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") parts.script += inlineScript(part.code);
        else parts.style += String(part.source).trim();
        delete bundle[name];
      }
      const emit = (fileName: string, source: string) =>
        this.emitFile({ type: "asset", fileName, source });
      emit("report.html", page(parts, DATA, "'none'"));
      const served = DATA.replace("></script>", ' data-src="data.json"></script>');
      emit("live.html", page(parts, served, "'self'"));
      emit("LICENSES.txt", licences());
    },
  };
}
