// Sixty names that do harm where text is taken for markup, code, a path, a formula or a terminal.
const SCRIPTS = [
  "<script>window.hurt=1</script>", "</script><script>window.hurt=1</script>", "</style><script>window.hurt=1</script>",
  "<img src=x onerror=window.hurt=1>", "<svg onload=window.hurt=1>", "\"><script>window.hurt=1</script>",
  "'><img src=//evil.example/x>", "<iframe src=javascript:window.hurt=1>", "javascript:window.hurt=1",
  "<a href='javascript:window.hurt=1'>x</a>", "<link rel=stylesheet href=//evil.example/c.css>",
  "<meta http-equiv=refresh content='0;url=//evil.example'>", "<base href=//evil.example/>",
  "<object data=//evil.example/o>", "<!--", "-->", "<![CDATA[", "]]>", "${window.hurt=1}", "`${window.hurt=1}`",
  "{{constructor.constructor('window.hurt=1')()}}", "&lt;b&gt;", "&#x3c;script&#x3e;", "$&", "$1$`$'",
];
const CELLS = [
  "=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "\r=1", "a,b", "a\"b", "a\"\"b", "'quoted'",
];
const PATHS = ["../../etc/passwd", "/dev/null", "C:\\Windows\\x", "file:///etc/passwd", "https://evil.example/x.png", "%00", "%s%n%d"];
const CHARACTERS = [
  "\u001b[31mred\u001b[0m", "\u001b]0;title\u0007", "a\nb", "a\r\nb", "nul\u0000nul", "\u202egnp.exe", "\u2066iso\u2069", "שלום.exe",
  "مرحبا", "e\u0301\u0301\u0301", "👩‍👩‍👧‍👦", "\ud800", "\udc00x", "\ufeffbom", "\u200bzero", "", " ",
];
const LONG = "long_".repeat(200000);

export const HOSTILE: string[] = [...SCRIPTS, ...CELLS, ...PATHS, ...CHARACTERS, LONG];
