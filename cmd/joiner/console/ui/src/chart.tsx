import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { clock, dollars } from './format'
import { store, type Known } from './store'
import { onTheme, palette } from './theme'

const spans = [{ name: '1 h', seconds: 3600 }, { name: '6 h', seconds: 21600 }, { name: '24 h', seconds: 86400 }]

export function Chart({ known }: { known: Known | null }) {
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const [chosen, setSeconds] = useState(0)
  const seconds = chosen || fitting(known)
  const latest = useRef(seconds)
  latest.current = seconds

  useEffect(() => {
    const make = () => {
      plot.current?.destroy()
      plot.current = draw(frame.current!)
      fill(plot.current, latest.current)
    }
    make()
    const observer = new ResizeObserver(() => {
      const box = frame.current!
      if (plot.current && box.clientWidth > 0) plot.current.setSize({ width: box.clientWidth, height: box.clientHeight })
    })
    observer.observe(frame.current!)
    const leaves = [onTheme(make), store.eachFrame(() => plot.current && fill(plot.current, latest.current))]
    const timer = setInterval(() => plot.current && store.known?.about.live && fill(plot.current, latest.current), 5000)
    return () => {
      for (const leave of leaves) leave()
      clearInterval(timer)
      observer.disconnect()
      plot.current?.destroy()
    }
  }, [])
  useEffect(() => { if (plot.current) fill(plot.current, seconds) }, [seconds])

  const points = known?.prices ?? []
  const least = Math.min(...points.map((p) => p.d))
  const most = Math.max(...points.map((p) => p.d))
  return (
    <section class="chart" aria-labelledby="chart-title">
      <div class="bar">
        <h2 id="chart-title">Price per hour</h2>
        <p class="legend">{known && !known.about.live ? 'of the present nodes, since they were added' : <><span><i class="came" />nodes added</span><span><i class="went" />nodes removed</span></>}</p>
        <div class="ranges" role="group" aria-label="How far back">
          {spans.map((s) => <button key={s.name} aria-pressed={s.seconds === seconds} onClick={() => setSeconds(s.seconds)}>{s.name}</button>)}
        </div>
      </div>
      <div class="plot" ref={frame} role="img" aria-label={points.length > 0 ? `Price per hour: now ${dollars(points[points.length - 1]!.d)}, least ${dollars(least)}, most ${dollars(most)}` : 'No prices yet'} />
    </section>
  )
}

// fitting is how far back the curve goes unless somebody chooses: an hour where nothing is older.
function fitting(known: Known | null): number {
  const first = known?.prices[1]
  return first && known.about.live && Date.now() / 1000 - first.t < 3300 ? 3600 : 21600
}

// fill shows the last seconds of the curve, up to now.
function fill(plot: uPlot, seconds: number) {
  const k = store.known
  if (!k || k.prices.length === 0) return
  const end = k.about.live ? Math.max(Date.now() / 1000, k.prices[k.prices.length - 1]!.t) : k.prices[k.prices.length - 1]!.t
  const from = end - seconds
  const first = Math.max(0, k.prices.findLastIndex((p) => p.t <= from))
  const shown = k.prices.slice(first)
  const x = shown.map((p) => Math.max(p.t, from))
  const y = shown.map((p) => p.d / 1e6)
  x.push(end)
  y.push(y[y.length - 1]!)
  plot.setData([x, y], false)
  plot.batch(() => {
    plot.setScale('x', { min: from, max: end })
    plot.setScale('y', { min: 0, max: topOf(Math.max(...y)) })
  })
}

let step = 1 // between lines of the grid, as the curve that is drawn needs it

// stepOf is the distance between lines of the grid, topOf the uppermost of them: the curve never rises above it.
function stepOf(most: number): number {
  const rough = (most > 0 ? most : 1) / 3
  const unit = 10 ** Math.floor(Math.log10(rough))
  return unit * ([1, 2, 2.5, 5, 10].find((n) => n * unit >= rough) ?? 10)
}

function topOf(most: number): number {
  step = stepOf(most)
  return Math.max(1, Math.ceil((most * 1.02) / step)) * step
}

function draw(frame: HTMLDivElement): uPlot {
  const p = palette()
  const grid = { stroke: getComputedStyle(document.documentElement).getPropertyValue('--line').trim(), width: 1 }
  const axis = { stroke: p.dim, grid, ticks: { show: false }, font: `13px ${p.font}`, labelFont: `13px ${p.font}` }
  return new uPlot({
    width: frame.clientWidth || 600,
    height: frame.clientHeight || 120,
    padding: [10, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true }, y: {} },
    axes: [
      { ...axis, size: 24, space: 80, values: (_u, times) => times.map((t) => clock(t).slice(0, 5)) },
      { ...axis, size: 66, splits: (_u, _i, _min, max) => Array.from({ length: Math.round(max / step) + 1 }, (_, i) => i * step), values: (_u, values) => values.map((v) => dollars(v * 1e6).replace(/(\.\d\d\d*?)0+$/, '$1').replace(/\.00$/, '')) },
    ],
    series: [{}, { stroke: p.spot, width: 1.5, fill: fade(p.spot), paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false } }],
    hooks: { draw: [ticks(p.spot, p.warn)], setCursor: [readout(frame)] },
  }, [[], []], frame)
}

const fade = (hex: string) => `color-mix(in srgb, ${hex} 14%, transparent)`

// ticks draws a mark at the foot of the chart for each decision.
function ticks(came: string, went: string) {
  return (u: uPlot) => {
    const { ctx, bbox } = u
    ctx.save()
    for (const e of store.known?.entries ?? []) {
      if (e.nodes === 0) continue
      const x = u.valToPos(e.at, 'x', true)
      if (x < bbox.left || x > bbox.left + bbox.width) continue
      ctx.fillStyle = e.kind === 'disrupt' ? went : came
      ctx.fillRect(Math.round(x) - 1, bbox.top + bbox.height - 7 * devicePixelRatio, 2 * devicePixelRatio, 7 * devicePixelRatio)
    }
    ctx.restore()
  }
}

// readout shows time and price under the cursor.
function readout(frame: HTMLDivElement) {
  const box = document.createElement('div')
  box.className = 'readout'
  return (u: uPlot) => {
    const i = u.cursor.idx
    const at = u.cursor.left ?? -1
    const price = i == null ? undefined : u.data[1]?.[i]
    if (at < 0 || price == null) {
      box.remove()
      return
    }
    if (!box.isConnected) frame.append(box)
    box.textContent = `${clock(u.posToVal(at, 'x'))}  ${dollars(price * 1e6)}`
    box.style.left = `${Math.min(at + 70, frame.clientWidth - 130)}px`
  }
}
