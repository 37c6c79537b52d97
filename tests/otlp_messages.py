"""The messages of OpenTelemetry's profiles as classes of Python's protobuf.

By the description below, written down from the published files: opentelemetry-proto 1.11,
profiles/v1development and what it imports. With GEIGER_OTLP_PROTO=FOLDER, a checkout of
opentelemetry-proto, by those files themselves, which protoc reads.
"""
import os
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PUBLISHED = os.environ.get("GEIGER_OTLP_PROTO")
FILES = ("collector/profiles/v1development/profiles_service.proto",
         "processcontext/v1development/process_context.proto")
PACKAGES = {"profiles.v1development": """
        ProfilesDictionary: 1 *Mapping mapping_table, 2 *Location location_table, 3 *Function function_table, 4 *Link link_table,
          5 *string string_table, 6 *KeyValueAndUnit attribute_table, 7 *Stack stack_table
        ProfilesData: 1 *ResourceProfiles resource_profiles, 2 ProfilesDictionary dictionary
        ResourceProfiles: 1 resource.v1.Resource resource, 2 *ScopeProfiles scope_profiles, 3 string schema_url
        ScopeProfiles: 1 common.v1.InstrumentationScope scope, 2 *Profile profiles, 3 string schema_url
        Profile: 1 ValueType sample_type, 2 *Sample samples, 3 fixed64 time_unix_nano, 4 uint64 duration_nano, 5 ValueType period_type,
          6 int64 period, 7 bytes profile_id, 8 uint32 dropped_attributes_count, 9 string original_payload_format,
          10 bytes original_payload, 11 *int32 attribute_indices
        Link: 1 bytes trace_id, 2 bytes span_id
        ValueType: 1 int32 type_strindex, 2 int32 unit_strindex
        Sample: 1 int32 stack_index, 2 *int32 attribute_indices, 3 int32 link_index, 4 *int64 values, 5 *fixed64 timestamps_unix_nano
        Mapping: 1 uint64 memory_start, 2 uint64 memory_limit, 3 uint64 file_offset, 4 int32 filename_strindex, 5 *int32 attribute_indices
        Stack: 1 *int32 location_indices
        Location: 1 int32 mapping_index, 2 uint64 address, 3 *Line lines, 4 *int32 attribute_indices
        Line: 1 int32 function_index, 2 int64 line, 3 int64 column
        Function: 1 int32 name_strindex, 2 int32 system_name_strindex, 3 int32 filename_strindex, 4 int64 start_line
        KeyValueAndUnit: 1 int32 key_strindex, 2 common.v1.AnyValue value, 3 int32 unit_strindex""",
            "collector.profiles.v1development": """
        ExportProfilesServiceRequest: 1 *profiles.v1development.ResourceProfiles resource_profiles,
          2 profiles.v1development.ProfilesDictionary dictionary
        ExportProfilesServiceResponse: 1 ExportProfilesPartialSuccess partial_success
        ExportProfilesPartialSuccess: 1 int64 rejected_profiles, 2 string error_message""",
            "processcontext.v1development": """
        ProcessContext: 1 resource.v1.Resource resource, 2 *common.v1.KeyValue attributes""",
            "common.v1": """
        AnyValue: 1 string string_value, 2 bool bool_value, 3 int64 int_value, 4 double double_value, 5 ArrayValue array_value,
          6 KeyValueList kvlist_value, 7 bytes bytes_value, 8 int32 string_value_strindex
        ArrayValue: 1 *AnyValue values
        KeyValueList: 1 *KeyValue values
        KeyValue: 1 string key, 2 AnyValue value, 3 int32 key_strindex
        InstrumentationScope: 1 string name, 2 string version, 3 *KeyValue attributes, 4 uint32 dropped_attributes_count
        EntityRef: 1 string schema_url, 2 string type, 3 *string id_keys, 4 *string description_keys""",
            "resource.v1": """
        Resource: 1 *common.v1.KeyValue attributes, 2 uint32 dropped_attributes_count, 3 *common.v1.EntityRef entity_refs"""}
ROOT = "opentelemetry.proto."


def described():
    """The description as files of protobuf."""
    for package, text in PACKAGES.items():
        file = descriptor_pb2.FileDescriptorProto(name=package, package=ROOT + package, syntax="proto3")
        file.dependency.extend(other for other in PACKAGES if other != package and f"{other}." in text)
        for message in text.replace(",\n", ",").strip().splitlines():
            name, _, fields = message.strip().partition(": ")
            out = file.message_type.add(name=name)
            if name == "AnyValue":
                out.oneof_decl.add(name="value")
            for number, kind, field in (each.split() for each in fields.split(",")):
                one = out.field.add(name=field, number=int(number), label=3 if kind.startswith("*") else 1)
                kind = kind.lstrip("*")
                if kind[0].isupper() or "." in kind:
                    one.type = one.TYPE_MESSAGE
                    one.type_name = f".{ROOT}{kind if '.' in kind else f'{package}.{kind}'}"
                else:
                    one.type = getattr(one, f"TYPE_{kind.upper()}")
                if name == "AnyValue":
                    one.oneof_index = 0
        yield file


def published():
    """What protoc makes of the published files."""
    with tempfile.NamedTemporaryFile() as out:
        names = [f"opentelemetry/proto/{name}" for name in FILES]
        subprocess.run(["protoc", f"-I{PUBLISHED}", "--include_imports", f"--descriptor_set_out={out.name}", *names],
                       check=True, timeout=60)
        return descriptor_pb2.FileDescriptorSet.FromString(out.read()).file


def layout(files):
    """{message: {number: (name, type, repeated or not)}}"""
    return {f"{file.package}.{message.name}": {field.number: (field.name, field.type, field.label == 3, field.type_name)
                                               for field in message.field}
            for file in files for message in file.message_type}


def classes():
    pool = descriptor_pool.DescriptorPool()
    files = {file.name: file for file in (published() if PUBLISHED else described())}

    def add(file):
        for name in file.dependency:
            if name in files:
                add(files.pop(name))
        pool.Add(file)
    while files:
        add(files.pop(next(iter(files))))
    factory = message_factory.MessageFactory(pool)
    return lambda name: factory.GetPrototype(pool.FindMessageTypeByName(ROOT + name))


CLASS = classes()
Data = CLASS("profiles.v1development.ProfilesData")
Request = CLASS("collector.profiles.v1development.ExportProfilesServiceRequest")
Response = CLASS("collector.profiles.v1development.ExportProfilesServiceResponse")
ProcessContext = CLASS("processcontext.v1development.ProcessContext")
