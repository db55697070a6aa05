import type { About, Delta, Entry, Point, Row, State, Totals, Waiting } from './types'

// What is known of the cluster, kept up to date by the event stream.
export interface Known {
  about: About
  totals: Totals
  rows: Row[] // in the order of the field: pool, zone, time, id
  waiting: Waiting[]
  entries: Entry[]
  prices: Point[]
}

// One change, as the parts of the page that draw by hand want to know it.
export interface Change {
  structure: boolean // nodes came or went
  rows: number[] // indexes of rows that look different
}

type Listener = (change: Change) => void

const order = (a: Row, b: Row) => compare(a.p, b.p) || compare(a.z, b.z) || a.b - b.b || compare(a.id, b.id)
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

class Store {
  known: Known | null = null
  connected = false
  private index = new Map<string, number>()
  private listeners = new Set<Listener>()

  start() {
    const stream = new EventSource('api/events')
    stream.addEventListener('state', (e) => this.begin(JSON.parse((e as MessageEvent<string>).data) as State))
    stream.addEventListener('delta', (e) => this.apply(JSON.parse((e as MessageEvent<string>).data) as Delta))
    stream.onopen = () => this.connection(true)
    stream.onerror = () => this.connection(false)
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  row(id: string): Row | undefined {
    const i = this.index.get(id)
    return i === undefined ? undefined : this.known?.rows[i]
  }

  rowNamed(name: string): Row | undefined {
    return this.known?.rows.find((r) => r.n === name || r.id === name)
  }

  // now is the time that ages are counted to, Unix seconds: of files the time they are evaluated by.
  now(): number {
    return this.known && !this.known.about.live ? this.known.about.at : Date.now() / 1000
  }

  private connection(up: boolean) {
    if (this.connected === up) return
    this.connected = up
    this.tell({ structure: false, rows: [] })
  }

  private begin(s: State) {
    this.known = { about: s.about, totals: s.totals, rows: s.nodes.sort(order), waiting: s.waiting, entries: s.entries, prices: s.prices }
    this.reindex()
    this.connected = true
    performance.mark('joiner-state')
    this.tell({ structure: true, rows: [] })
  }

  private apply(d: Delta) {
    const k = this.known
    if (!k) return
    const change: Change = { structure: false, rows: [] }
    if (d.about) k.about = d.about
    if (d.totals) k.totals = d.totals
    if (d.waiting) k.waiting = d.waiting
    if (d.entries) k.entries = [...d.entries, ...k.entries].sort((a, b) => b.at - a.at || compare(b.id, a.id)).slice(0, 500)
    if (d.curve) k.prices = d.curve
    if (d.prices) k.prices = [...k.prices, ...d.prices]
    for (const row of d.nodes ?? []) {
      const i = this.index.get(row.id)
      const old = i === undefined ? undefined : k.rows[i]
      if (i === undefined || !old || order(old, row) !== 0) change.structure = true
      if (i === undefined) {
        this.index.set(row.id, k.rows.push(row) - 1)
      } else {
        k.rows[i] = row
        change.rows.push(i)
      }
    }
    if (d.gone?.length) {
      const gone = new Set(d.gone)
      k.rows = k.rows.filter((r) => !gone.has(r.id))
      change.structure = true
    }
    if (change.structure) {
      k.rows.sort(order)
      this.reindex()
    }
    this.tell(change)
  }

  private reindex() {
    this.index.clear()
    this.known?.rows.forEach((r, i) => this.index.set(r.id, i))
  }

  // Listeners are called at once: those that draw join changes into frames themselves.
  private tell(change: Change) {
    for (const listener of this.listeners) listener(change)
  }

  // once a frame at most, for what is not urgent
  eachFrame(listener: () => void): () => void {
    let asked = false
    return this.listen(() => {
      if (asked) return
      asked = true
      requestAnimationFrame(() => {
        asked = false
        listener()
      })
    })
  }
}

export const store = new Store()

export async function ask<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await fetch(path, init)
  const body = (await response.json()) as T & { error?: string }
  if (!response.ok) throw new Error(body.error ?? `${response.status} ${response.statusText}`)
  return body
}
