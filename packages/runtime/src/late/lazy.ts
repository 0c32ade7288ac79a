/** Loads on the first call. Later calls get the same. */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => (loaded ??= load());
}

type AsyncMethod = (...given: never[]) => Promise<unknown>;

/** Names of the methods that return a promise. */
type AsyncName<T> = { [Name in keyof T]: T[Name] extends AsyncMethod ? Name : never }[keyof T];

/** These methods of an object that is loaded when one of them is called. */
export function lazyMethods<T extends object, const Name extends AsyncName<T>>(
  load: () => Promise<T>,
  names: readonly Name[],
): Pick<T, Name> {
  const call = async (name: Name, given: readonly unknown[]): Promise<unknown> => {
    const loaded = await load();
    const method = loaded[name] as (...given: readonly unknown[]) => Promise<unknown>;
    return await method.call(loaded, ...given);
  };
  const methods: Partial<Record<Name, unknown>> = {};
  for (const name of names) methods[name] = (...given: readonly unknown[]) => call(name, given);
  return methods as Pick<T, Name>;
}
