import { useEffect, useState } from 'preact/hooks'
import { ask, store } from './store'
import type { Saving } from './types'

// What consolidation could save: worked out once, when the page has shown the rest, and again by whoever runs the dry run.
let known: Saving | null = null
let asked = false
const listeners = new Set<() => void>()

export function setSaving(s: Saving) {
  known = s
  asked = true
  for (const listener of listeners) listener()
}

// begin asks for it a little after there are nodes: it takes long in a large cluster, and nothing else waits for it.
function begin() {
  if (asked || !store.known || store.known.rows.length === 0) return
  asked = true
  setTimeout(() => {
    ask<Saving>('api/saving').then(setSaving, () => { asked = false })
  }, 1500)
}

export function useSaving(): Saving | null {
  const [, bump] = useState(0)
  useEffect(() => {
    const changed = () => bump((n) => n + 1)
    listeners.add(changed)
    begin()
    const leave = store.eachFrame(begin)
    return () => {
      listeners.delete(changed)
      leave()
    }
  }, [])
  return known
}
