// The field: every node a tile, filled as far as its pods fill it, by pool and zone. It is drawn on a canvas so that thousands of
// nodes cost no more than a few milliseconds, and only tiles that changed are drawn anew. Few nodes are cards, which say in words what
// they are.

import { dollars, many, percent, shortNames, shortZone } from './format'
import type { Row } from './types'

// How nodes are drawn: in words, with a bar for CPU and one for memory, or too small for two bars.
export type Kind = 'cards' | 'tiles' | 'dots'

export type Color = 'capacity' | 'fill' | 'price'

interface Tile { x: number; y: number }
interface Label { x: number; y: number; width: number; text: string; more?: string; strong: boolean }
interface Block { from: number; to: number; zones: { from: number; to: number }[] }

export interface Palette {
  panel: string
  raised: string
  line: string
  text: string
  dim: string
  track: string
  spot: string
  demand: string
  reserved: string
  other: string
  warn: string
  bad: string
  focus: string
  ramp: string[]
  font: string
}

export interface Marks { goes: Set<string>; takes: Set<string> }

const poolHeader = 22
const zoneHeader = 15
const zoneGap = 12
const blockGap = 14
const poolGap = 26
const largest = 72
const smallest = 7
const cardGap = 8
const cardWidth = 172 // at least
const cardHeights = [96, 66] // with a line for size and state, and without
const mostCards = 60
const mostCardsNarrow = 20

export class Field {
  rows: Row[] = []
  tiles: Tile[] = []
  pitch = largest
  w = largest // of a tile or card with the gap after it
  h = largest
  cards = false
  private kind: Kind = 'tiles'
  cursor = -1
  hover = -1
  color: Color = 'capacity'
  marks: Marks | null = null
  shown: ((r: Row) => boolean) | null = null
  palette!: Palette
  onKind: (kind: Kind) => void = () => {}

  private labels: Label[] = []
  private width = 0
  private height = 0
  private available = 0
  private context: CanvasRenderingContext2D
  private ratio = 1
  private asked = 0
  private everything = true
  private stale = new Set<number>()
  private dearest = 1
  private cheapest = 1
  private biggest = 1 // milli-CPU of the largest node
  private canvas: HTMLCanvasElement

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas
    this.context = canvas.getContext('2d', { alpha: false })!
  }

  // resize says how much room there is; the field takes more height where its smallest tiles need it.
  resize(width: number, available: number) {
    if (width === this.width && available === this.available) return
    this.width = width
    this.available = available
    this.arrange()
  }

  update(rows: Row[], structure: boolean, changed: number[]) {
    this.rows = rows
    if (structure) {
      this.arrange()
      return
    }
    for (const i of changed) this.stale.add(i)
    if (this.hover >= rows.length) this.hover = -1
    this.ask()
  }

  redraw() {
    this.everything = true
    this.ask()
  }

  // at returns the index of the tile at a point, -1 where there is none.
  at(x: number, y: number): number {
    return this.tiles.findIndex((t) => x >= t.x && x < t.x + this.w && y >= t.y && y < t.y + this.h)
  }

  // next returns the tile that lies in a direction of another.
  next(from: number, dx: number, dy: number): number {
    const start = this.tiles[from]
    if (!start) return this.tiles.length > 0 ? 0 : -1
    let best = from
    let least = Infinity
    this.tiles.forEach((t, i) => {
      const along = (t.x - start.x) * dx + (t.y - start.y) * dy
      const across = Math.abs((t.x - start.x) * dy) + Math.abs((t.y - start.y) * dx)
      const far = along + across * 3
      if (i !== from && along > 0.5 && far < least) {
        least = far
        best = i
      }
    })
    return best
  }

  point(previous: number, now: number) {
    this.stale.add(previous)
    this.stale.add(now)
    this.ask()
  }

  private blocks(): Block[] {
    const out: Block[] = []
    this.rows.forEach((r, i) => {
      const before = this.rows[i - 1]
      const block = out[out.length - 1]
      if (!before || !block || before.p !== r.p) {
        out.push({ from: i, to: i + 1, zones: [{ from: i, to: i + 1 }] })
        return
      }
      block.to = i + 1
      const zone = block.zones[block.zones.length - 1]!
      if (before.z !== r.z) block.zones.push({ from: i, to: i + 1 })
      else zone.to = i + 1
    })
    // large pools first, nodes of no pool last
    return out.sort((a, b) => Number(this.rows[a.from]!.p === '') - Number(this.rows[b.from]!.p === '') || b.to - b.from - (a.to - a.from))
  }

  private arrange() {
    if (this.width === 0) return
    const blocks = this.blocks()
    let height = 0
    const cards = this.rows.length <= (this.width < 520 ? mostCardsNarrow : mostCards)
    if (cards) {
      for (const tall of cardHeights) {
        height = this.deal(blocks, tall)
        if (height <= this.available) break
      }
    } else {
      for (let pitch = largest; pitch >= smallest; pitch -= pitch > 48 ? 6 : pitch > 30 ? 3 : pitch > 16 ? 2 : 1) {
        this.pitch = this.w = this.h = pitch
        height = this.place(blocks)
        if (height <= this.available) break
      }
    }
    this.cards = cards
    const kind: Kind = cards ? 'cards' : this.pitch - this.gap >= 13 ? 'tiles' : 'dots'
    if (this.kind !== kind) this.onKind((this.kind = kind))
    this.cheapest = Infinity
    this.dearest = 0
    this.biggest = 1
    for (const r of this.rows) {
      this.biggest = Math.max(this.biggest, r.uh)
      if (r.d <= 0) continue
      this.cheapest = Math.min(this.cheapest, r.d)
      this.dearest = Math.max(this.dearest, r.d)
    }
    this.ratio = window.devicePixelRatio || 1
    const tall = Math.max(height, Math.min(this.available, 120))
    if (this.canvas.width !== Math.round(this.width * this.ratio) || this.canvas.height !== Math.round(tall * this.ratio)) {
      this.canvas.width = Math.round(this.width * this.ratio)
      this.canvas.height = Math.round(tall * this.ratio)
      this.canvas.style.width = `${this.width}px`
      this.canvas.style.height = `${tall}px`
    }
    this.height = tall
    this.redraw()
  }

  // deal gives every card its place, pool after pool, and returns the height they take.
  private deal(blocks: Block[], tall: number): number {
    this.tiles = new Array<Tile>(this.rows.length)
    this.labels = []
    const columns = Math.max(1, Math.floor((this.width + cardGap) / (cardWidth + cardGap)))
    this.w = Math.floor((this.width + cardGap) / columns)
    this.h = tall + cardGap
    this.pitch = this.h
    let y = 0
    for (const block of blocks) {
      this.labels.push(this.header(block, 0, y, this.width))
      y += poolHeader
      for (let i = block.from; i < block.to; i++) {
        const k = i - block.from
        this.tiles[i] = { x: (k % columns) * this.w, y: y + Math.floor(k / columns) * this.h }
      }
      y += Math.ceil((block.to - block.from) / columns) * this.h + blockGap - cardGap
    }
    return y
  }

  // place gives every tile its place at the present pitch and returns the height it takes.
  private place(blocks: Block[]): number {
    this.tiles = new Array<Tile>(this.rows.length)
    this.labels = []
    let x = 0
    let y = 0
    let shelf = 0
    let header = -1 // of the last pool on the shelf, which may be as wide as is left
    for (const block of blocks) {
      const n = block.to - block.from
      const roomy = this.width * Math.max(this.available, 200)
      const whole = n * this.pitch * this.pitch > 0.18 * roomy
      let rows = whole ? 1 : Math.max(1, Math.ceil(Math.sqrt(n / 3.2)))
      while (this.widthOf(block, rows) > this.width && rows < n) rows++
      const wide = Math.min(this.width, Math.max(this.widthOf(block, rows), 250))
      if (x > 0 && x + wide > this.width) {
        this.widen(header)
        x = 0
        y += shelf + blockGap
        shelf = 0
      }
      header = this.labels.length
      this.fill(block, rows, x, y, wide)
      shelf = Math.max(shelf, poolHeader + zoneHeader + rows * this.pitch)
      x += wide + poolGap
    }
    this.widen(header)
    return y + shelf + 6
  }

  private widen(label: number) {
    const last = this.labels[label]
    if (last) last.width = this.width - last.x
  }

  private widthOf(block: Block, rows: number): number {
    return block.zones.reduce((sum, z) => sum + this.zoneWidth(z.to - z.from, rows), 0) + (block.zones.length - 1) * zoneGap
  }

  private zoneWidth(n: number, rows: number): number {
    return Math.max(Math.ceil(n / rows) * this.pitch, 20)
  }

  private fill(block: Block, rows: number, left: number, top: number, width: number) {
    this.labels.push(this.header(block, left, top, width))
    let x = left
    for (const zone of block.zones) {
      const wide = this.zoneWidth(zone.to - zone.from, rows)
      const name = this.rows[zone.from]!.z || 'no zone yet'
      this.labels.push({ x, y: top + poolHeader + 10, width: wide, text: shortZone(name), strong: false })
      for (let i = zone.from; i < zone.to; i++) {
        const k = i - zone.from
        this.tiles[i] = { x: x + Math.floor(k / rows) * this.pitch, y: top + poolHeader + zoneHeader + (k % rows) * this.pitch }
      }
      x += wide + zoneGap
    }
  }

  private header(block: Block, x: number, y: number, width: number): Label {
    let price = 0
    let cpu = 0
    let has = 0
    for (let i = block.from; i < block.to; i++) {
      const r = this.rows[i]!
      price += r.d
      if (r.s === 'launching') continue
      cpu += r.u
      has += r.uh
    }
    const pool = this.rows[block.from]!.p
    const facts = [many(block.to - block.from, 'node')]
    if (price > 0) facts.push(`${dollars(price)}/h`)
    if (has > 0) facts.push(`CPU ${percent(cpu, has)}`)
    const zones = block.zones.map((zone) => this.rows[zone.from]!.z).filter(Boolean)
    if (zones.length > 0) facts.push(zones.join(', '))
    return { x, y: y + 13, width, text: pool || 'no NodePool', more: facts.join('  ·  '), strong: true }
  }

  private ask() {
    if (this.asked) return
    this.asked = requestAnimationFrame(() => {
      this.asked = 0
      this.draw()
    })
  }

  private draw() {
    const c = this.context
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    if (this.everything) {
      c.fillStyle = this.palette.panel
      c.fillRect(0, 0, this.width, this.height)
      this.text()
      for (let i = 0; i < this.rows.length; i++) this.tile(i)
    } else {
      for (const i of this.stale) {
        const t = this.tiles[i]
        if (!t) continue
        c.fillStyle = this.palette.panel
        c.fillRect(t.x - 1, t.y - 1, this.w + 1, this.h + 1)
        this.tile(i)
      }
      this.headers()
    }
    this.everything = false
    this.stale.clear()
    this.ring(this.hover, this.palette.dim)
    this.ring(this.cursor, this.palette.focus)
  }

  // headers draws the lines above the pools anew, whose sums may have changed.
  private headers() {
    if (this.stale.size === 0) return
    const blocks = this.blocks()
    let n = 0
    this.labels = this.labels.map((label) => (label.strong ? this.header(blocks[n++]!, label.x, label.y - 13, label.width) : label))
    const c = this.context
    c.fillStyle = this.palette.panel
    for (const label of this.labels) if (label.strong) c.fillRect(label.x, label.y - 13, label.width, poolHeader - 3)
    this.text(true)
  }

  private text(strongOnly = false) {
    const c = this.context
    const p = this.palette
    for (const label of this.labels) {
      if (label.strong) {
        c.font = `600 13px ${p.font}`
        c.fillStyle = p.text
        c.fillText(label.text, label.x, label.y, label.width)
        const used = c.measureText(label.text).width + 12
        c.font = `13px ${p.font}`
        c.fillStyle = p.dim
        if (label.more && label.width - used > 40) c.fillText(this.fitting(label.more, label.width - used), label.x + used, label.y)
      } else if (!strongOnly) {
        c.font = `12px ${p.font}`
        c.fillStyle = p.dim
        c.fillText(label.text, label.x, label.y, label.width)
      }
    }
  }

  // fitting leaves out the last facts of a line where they do not fit.
  private fitting(text: string, width: number): string {
    let facts = text.split('  ·  ')
    while (facts.length > 1 && this.context.measureText(facts.join('  ·  ')).width > width) facts = facts.slice(0, -1)
    return facts.join('  ·  ')
  }

  private hue(r: Row): string {
    const p = this.palette
    if (this.color === 'capacity') return r.p === '' ? p.other : r.c === 'spot' ? p.spot : r.c === 'reserved' ? p.reserved : p.demand
    let share = Math.max(r.uh > 0 ? r.u / r.uh : 0, r.mh > 0 ? r.m / r.mh : 0)
    if (this.color === 'price') {
      if (r.d <= 0) return p.other
      share = this.dearest > this.cheapest ? Math.log(r.d / this.cheapest) / Math.log(this.dearest / this.cheapest) : 0
    }
    return p.ramp[Math.max(0, Math.min(p.ramp.length - 1, Math.floor(share * p.ramp.length)))]!
  }

  private tile(i: number) {
    const t = this.tiles[i]
    const r = this.rows[i]
    if (!t || !r) return
    const c = this.context
    if (this.cards) {
      this.card(t, r)
      return
    }
    const size = this.sizeOf(r)
    const faded = (this.shown !== null && !this.shown(r)) || (this.marks !== null && !this.marks.goes.has(r.id) && !this.marks.takes.has(r.id))
    const hue = this.hue(r)
    c.globalAlpha = faded ? 0.16 : 1
    if (r.s !== 'launching') {
      c.fillStyle = this.palette.track
      this.box(t.x, t.y, size, size)
    }
    const cpu = r.uh > 0 ? Math.min(1, r.u / r.uh) : 0
    const memory = r.mh > 0 ? Math.min(1, r.m / r.mh) : 0
    const soft = r.s === 'launching' ? 0.3 : r.s === 'joining' ? 0.55 : 1
    c.fillStyle = r.s === 'draining' ? this.palette.warn : hue
    c.globalAlpha *= soft
    if (size >= 13) {
      const half = Math.floor(size / 2)
      this.bar(t.x, t.y, half, size, cpu)
      c.globalAlpha *= 0.62
      this.bar(t.x + half, t.y, size - half, size, memory)
    } else {
      this.bar(t.x, t.y, size, size, Math.max(cpu, memory))
    }
    c.globalAlpha = faded ? 0.16 : 1
    this.edge(r, t, size, size, hue)
    c.globalAlpha = 1
  }

  private get gap(): number {
    return this.cards ? cardGap : this.pitch >= 40 ? 6 : this.pitch >= 20 ? 4 : this.pitch >= 12 ? 2 : 1
  }

  // sizeOf is the side of a node's tile: its area goes by vCPUs, as far as a small one can be seen still.
  private sizeOf(r: Row): number {
    const most = this.pitch - this.gap
    if (r.uh <= 0 || this.pitch < 14) return most
    return Math.max(Math.min(most, 11), Math.round(most * Math.max(0.5, Math.sqrt(r.uh / this.biggest))))
  }

  // card draws a node with its name, type, price and the two bars in words.
  private card(t: Tile, r: Row) {
    const c = this.context
    const p = this.palette
    const wide = this.w - cardGap
    const tall = this.h - cardGap
    const full = tall > 80
    const faded = (this.shown !== null && !this.shown(r)) || (this.marks !== null && !this.marks.goes.has(r.id) && !this.marks.takes.has(r.id))
    const hue = r.s === 'draining' ? p.warn : this.hue(r)
    c.globalAlpha = faded ? 0.25 : 1
    c.fillStyle = p.raised
    this.box(t.x, t.y, wide, tall)
    c.fillStyle = hue
    this.box(t.x, t.y, 4, tall)
    const left = t.x + 13
    const right = t.x + wide - 9
    const zone = shortZone(r.z) || '–'
    const zoneWide = this.write(zone, right, t.y + 18, p.dim, '12px', true)
    this.write(shortNames(r.n), left, t.y + 18, p.text, '600 13px', false, right - left - zoneWide - 8)
    const price = r.d > 0 ? `${dollars(r.d)}/h` : 'price unknown'
    const priceWide = this.write(price, right, t.y + 35, p.text, '12px', true)
    this.write(r.t || 'type unknown', left, t.y + 35, p.dim, '12px', false, right - left - priceWide - 8)
    if (full) {
      this.meter('CPU', r.u, r.uh, left, t.y + 53, right - left, hue, 1, false)
      this.meter('Mem', r.m, r.mh, left, t.y + 69, right - left, hue, 0.62, false)
      const state = this.stateOf(r)
      const stateWide = this.write(state.text, right, t.y + 87, state.color, '12px', true)
      this.write(state.text ? `${Math.ceil(r.uh / 1000)} vCPU` : `${Math.ceil(r.uh / 1000)} vCPU · ${many(r.k, 'pod')}`, left, t.y + 87, p.dim, '12px', false, right - left - stateWide - 8)
    } else {
      const half = Math.floor((right - left - 12) / 2)
      this.meter('CPU', r.u, r.uh, left, t.y + 51, half, hue, 1, true)
      this.meter('Mem', r.m, r.mh, left + half + 12, t.y + 51, half, hue, 0.62, true)
    }
    this.edge(r, t, wide, tall, hue)
    c.globalAlpha = 1
  }

  // stateOf is what a card says of its node beside what it is: what the plan would do with it, or its state where that is not ready.
  private stateOf(r: Row): { text: string; color: string } {
    const p = this.palette
    if (this.marks?.goes.has(r.id)) return { text: 'removed', color: p.bad }
    if (this.marks?.takes.has(r.id)) return { text: 'receives pods', color: p.text }
    if (r.s === 'ready') return { text: '', color: p.dim }
    return { text: r.s === 'tainted' ? 'to be disrupted' : r.s === 'unready' ? 'not ready' : r.s, color: r.s === 'unready' ? p.bad : p.text }
  }

  // meter draws a bar with its name before it and its share after it, or below both.
  private meter(name: string, part: number, whole: number, x: number, y: number, width: number, hue: string, strength: number, below: boolean) {
    const c = this.context
    const share = whole > 0 ? Math.min(1, part / whole) : 0
    const [at, up, wide, tall] = below ? [x, -5, width, 4] : [x + 34, 8, width - 34 - 38, 7]
    const alpha = c.globalAlpha
    this.write(name, x, y, this.palette.dim, '12px', false)
    this.write(percent(part, whole), x + width, y, this.palette.text, '12px', true)
    if (wide < 12) return
    c.fillStyle = this.palette.track
    this.box(at, y - up, wide, tall)
    c.fillStyle = hue
    c.globalAlpha = alpha * strength
    this.box(at, y - up, Math.round(wide * share), tall)
    c.globalAlpha = alpha
  }

  // write puts a text at a place, or before it, as far as it has room, and returns how wide it is.
  private write(text: string, x: number, y: number, color: string, font: string, before: boolean, room = Infinity): number {
    const c = this.context
    c.font = `${font} ${this.palette.font}`
    c.fillStyle = color
    let shown = text
    while (shown.length > 1 && c.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`
    const wide = shown ? c.measureText(shown).width : 0
    if (shown) c.fillText(shown, before ? x - wide : x, y)
    return wide
  }

  private edge(r: Row, t: Tile, width: number, height: number, hue: string) {
    const size = Math.min(width, height)
    const c = this.context
    const p = this.palette
    const marked = this.marks?.goes.has(r.id) ? p.bad : this.marks?.takes.has(r.id) ? p.spot : ''
    const stroke = marked || (r.s === 'tainted' ? p.warn : r.s === 'unready' ? p.bad : r.s === 'launching' || r.s === 'joining' ? hue : '')
    if (r.s === 'draining' && size >= 12 && !this.cards) {
      c.strokeStyle = p.panel
      c.lineWidth = 1.5
      c.beginPath()
      for (let d = 4; d < size * 2; d += 5) {
        c.moveTo(t.x + Math.max(0, d - size), t.y + Math.min(size, d))
        c.lineTo(t.x + Math.min(size, d), t.y + Math.max(0, d - size))
      }
      c.stroke()
    }
    if (!stroke && !this.cards) return
    const wide = size >= 13 && (marked || r.s === 'tainted' || r.s === 'unready') ? 2 : 1
    c.strokeStyle = stroke || p.line
    c.lineWidth = wide
    c.setLineDash(r.s === 'launching' && !marked ? (size >= 13 ? [3, 2.5] : [2, 1]) : [])
    c.strokeRect(t.x + wide / 2, t.y + wide / 2, width - wide, height - wide)
    c.setLineDash([])
  }

  private bar(x: number, y: number, width: number, height: number, share: number) {
    if (share <= 0) return
    const tall = Math.max(1, Math.round(height * share))
    this.box(x, y + height - tall, width, tall)
  }

  private box(x: number, y: number, width: number, height: number) {
    this.context.fillRect(x, y, width, height)
  }

  private ring(i: number, color: string) {
    const t = this.tiles[i]
    if (!t) return
    const c = this.context
    c.strokeStyle = color
    c.lineWidth = 2
    const size = this.cards ? 0 : this.sizeOf(this.rows[i]!)
    c.strokeRect(t.x, t.y, this.cards ? this.w - cardGap : size, this.cards ? this.h - cardGap : size)
    this.stale.add(i) // to be taken off with the next drawing
  }
}
