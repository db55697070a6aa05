import type { Entry, Row, Waiting } from './types'

// A filter is words that all have to be found: "spot", "pool:web", "state:draining", "zone:b", "type:m7".
export type Filter = { key: string; value: string }[]

const keys: Record<string, (r: Row) => string> = {
  pool: (r) => r.p || 'none',
  zone: (r) => r.z,
  type: (r) => r.t,
  state: (r) => r.s,
  capacity: (r) => r.c,
  name: (r) => `${r.n} ${r.id}`,
}

export function parse(text: string): Filter {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => {
      const at = word.indexOf(':')
      const key = at > 0 ? word.slice(0, at) : ''
      return key in keys ? { key, value: word.slice(at + 1) } : { key: '', value: word }
    })
}

export function matches(filter: Filter, r: Row): boolean {
  return filter.every(({ key, value }) => {
    const of = keys[key]
    const text = of ? of(r) : `${r.n} ${r.id} ${r.p} ${r.z} ${r.t} ${r.c} ${r.s}`
    return text.toLowerCase().includes(value)
  })
}

const words = (filter: Filter) => filter.filter((f) => f.key === '' || f.key === 'pool' || f.key === 'name')

export function matchesWaiting(filter: Filter, w: Waiting): boolean {
  const text = `${w.workload} ${w.how} ${w.why} ${w.code ?? ''} ${w.names.join(' ')} ${w.reasons.flatMap((r) => r.pools).join(' ')}`.toLowerCase()
  return words(filter).every(({ value }) => text.includes(value))
}

export function matchesEntry(filter: Filter, e: Entry): boolean {
  const text = `${e.id} ${e.kind} ${e.title} ${e.trigger ?? ''} ${(e.pools ?? []).join(' ')}`.toLowerCase()
  return words(filter).every(({ value }) => text.includes(value))
}
