// Tables as comma-separated values that no spreadsheet takes for formulas.

export type CsvCell = string | number;

/** Text that begins like a formula is kept text by an apostrophe. */
function cellOf(value: CsvCell): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) || text !== value ? `"${text.replace(/"/g, '""')}"` : text;
}

/** A line with its end. */
export function csvLine(cells: readonly CsvCell[]): string {
  return cells.map(cellOf).join(",") + "\r\n";
}
