/** Whether a text is "user:password" in base64, as after `Basic`. */
export function isUserAndPassword(text: string): boolean {
  if (text.length < 8 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  const whole = text.replace(/=+$/, "");
  const decoded = atob(whole.length % 4 === 1 ? whole.slice(0, -1) : whole);
  return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(decoded);
}
