// The field: every node a tile, filled as far as its pods fill it, by pool and zone. It is drawn on a canvas so that thousands of
// nodes cost no more than a few milliseconds, and only tiles that changed are drawn anew.

import { dollars, many, percent } from './format'
import type { Row } from './types'

export type Color = 'capacity' | 'fill' | 'price'

interface Tile { x: number; y: number }
interface Label { x: number; y: number; width: number; text: string; more?: string; strong: boolean }
interface Block { from: number; to: number; zones: { from: number; to: number }[] }

export interface Palette {
  panel: string
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

export class Field {
  rows: Row[] = []
  tiles: Tile[] = []
  pitch = largest
  cursor = -1
  hover = -1
  color: Color = 'capacity'
  marks: Marks | null = null
  shown: ((r: Row) => boolean) | null = null
  palette!: Palette
  onHeight: (height: number) => void = () => {}

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
    const p = this.pitch
    return this.tiles.findIndex((t) => x >= t.x && x < t.x + p && y >= t.y && y < t.y + p)
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
    for (let pitch = largest; pitch >= smallest; pitch -= pitch > 48 ? 6 : pitch > 30 ? 3 : pitch > 16 ? 2 : 1) {
      this.pitch = pitch
      height = this.place(blocks)
      if (height <= this.available) break
    }
    this.cheapest = Infinity
    this.dearest = 0
    for (const r of this.rows) {
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
    this.onHeight(tall)
    this.redraw()
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
      const short = name.replace(/^.*-(\d+[a-z])$/, '$1')
      this.labels.push({ x, y: top + poolHeader + 10, width: wide, text: wide >= 74 ? name : short, strong: false })
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
    facts.push(`CPU ${percent(cpu, has)}`)
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
        c.fillRect(t.x - 1, t.y - 1, this.pitch + 1, this.pitch + 1)
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
        c.font = `12px ${p.font}`
        c.fillStyle = p.dim
        if (label.more && label.width - used > 40) c.fillText(this.fitting(label.more, label.width - used), label.x + used, label.y)
      } else if (!strongOnly) {
        c.font = `11px ${p.font}`
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
    const gap = this.pitch >= 40 ? 6 : this.pitch >= 20 ? 4 : this.pitch >= 12 ? 2 : 1
    const size = this.pitch - gap
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
    this.edge(r, t, size, hue)
    c.globalAlpha = 1
  }

  private edge(r: Row, t: Tile, size: number, hue: string) {
    const c = this.context
    const p = this.palette
    const marked = this.marks?.goes.has(r.id) ? p.bad : this.marks?.takes.has(r.id) ? p.spot : ''
    const stroke = marked || (r.s === 'tainted' ? p.warn : r.s === 'unready' ? p.bad : r.s === 'launching' || r.s === 'joining' ? hue : '')
    if (r.s === 'draining' && size >= 12) {
      c.strokeStyle = p.panel
      c.lineWidth = 1.5
      c.beginPath()
      for (let d = 4; d < size * 2; d += 5) {
        c.moveTo(t.x + Math.max(0, d - size), t.y + Math.min(size, d))
        c.lineTo(t.x + Math.min(size, d), t.y + Math.max(0, d - size))
      }
      c.stroke()
    }
    if (!stroke) return
    const wide = size >= 13 && (marked || r.s === 'tainted' || r.s === 'unready') ? 2 : 1
    c.strokeStyle = stroke
    c.lineWidth = wide
    c.setLineDash(r.s === 'launching' && !marked ? (size >= 13 ? [3, 2.5] : [2, 1]) : [])
    c.strokeRect(t.x + wide / 2, t.y + wide / 2, size - wide, size - wide)
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
    const gap = this.pitch >= 40 ? 6 : this.pitch >= 20 ? 4 : this.pitch >= 12 ? 2 : 1
    c.strokeStyle = color
    c.lineWidth = 2
    c.strokeRect(t.x, t.y, this.pitch - gap, this.pitch - gap)
    this.stale.add(i) // to be taken off with the next drawing
  }
}
