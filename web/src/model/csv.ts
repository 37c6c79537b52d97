// Tables as comma-separated values that no spreadsheet takes for formulas.

/** Text that begins like a formula is kept text by an apostrophe. */
function cellOf(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) || text !== value ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csvOf(head: string[], rows: (string | number)[][]): string {
  return [head, ...rows].map((row) => row.map(cellOf).join(",")).join("\r\n") + "\r\n";
}
