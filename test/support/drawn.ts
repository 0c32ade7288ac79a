/** What stands on a terminal that has scrolled nothing away: lines after moves of the cursor, without colours. */
export function drawn(output: string, columns: number): string[] {
  const lines: string[][] = [[]];
  let row = 0;
  let column = 0;
  const lineAt = (at: number): string[] => (lines[at] ??= []);
  const orders: Readonly<Record<string, (count: number) => void>> = {
    A: (count) => (row = Math.max(0, row - Math.max(1, count))),
    K: () => (lineAt(row).length = Math.min(lineAt(row).length, column)),
    J: () => {
      lineAt(row).length = Math.min(lineAt(row).length, column);
      lines.length = row + 1;
    },
  };
  // oxlint-disable-next-line no-control-regex
  for (const [token, parameter, order] of output.matchAll(/\u001b\[\??([\d;]*)([A-Za-z])|[^]/gu)) {
    if (order !== undefined) orders[order]?.(Number(parameter));
    else if (token === "\r") column = 0;
    else if (token === "\n") row++;
    else {
      if (column >= columns) [row, column] = [row + 1, 0];
      const line = lineAt(row);
      while (line.length < column) line.push(" ");
      line[column++] = token;
    }
    lineAt(row);
  }
  return lines.map((line) => line.join("").trimEnd());
}
