import { useEffect, useState } from 'preact/hooks'
import { ask } from './store'

// An answer of the server: not there yet, there, or why not.
export interface Answer<T> { value?: T; error?: string; again: () => void }

export function useAsk<T>(path: string): Answer<T> {
  const [turn, setTurn] = useState(0)
  const [answer, set] = useState<{ value?: T; error?: string }>({})
  useEffect(() => {
    let wanted = true
    const abort = new AbortController()
    ask<T>(path, { signal: abort.signal }).then(
      (value) => wanted && set({ value }),
      (error: unknown) => wanted && set((was) => ({ ...was, error: String(error instanceof Error ? error.message : error) })),
    )
    return () => {
      wanted = false
      abort.abort()
    }
  }, [path, turn])
  return { ...answer, again: () => setTurn((n) => n + 1) }
}
