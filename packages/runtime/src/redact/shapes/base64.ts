/** Whether a text is "user:password" in base64, as after `Basic`. */
export function isUserAndPassword(text: string): boolean {
  if (text.length < 8 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  const whole = text.replace(/=+$/, "");
  const decoded = atob(whole.length % 4 === 1 ? whole.slice(0, -1) : whole);
  return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(decoded);
}

/** Whether a text begins with "user:" in base64, whatever follows. */
export function beginsWithUser(text: string): boolean {
  const whole = text.replace(/=.*$/, "");
  return /^[\x20-\x7e]*:/.test(atob(whole.length % 4 === 1 ? whole.slice(0, -1) : whole));
}
