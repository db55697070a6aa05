import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Field, type Color, type Kind, type Marks } from './field'
import { cpu, dollars, memory, percent, shortNames, span } from './format'
import { go } from './route'
import { store } from './store'
import { onTheme, palette } from './theme'
import type { Row } from './types'

interface Props {
  shown: ((r: Row) => boolean) | null
  color: Color
  onColor: (c: Color) => void
  marks: Marks | null
  onTable: () => void
}

const narrow = matchMedia('(max-width: 800px)')

const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

export function FieldView({ shown, color, onColor, marks, onTable }: Props) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const field = useRef<Field | null>(null)
  const [tip, setTip] = useState<{ row: Row; x: number; y: number } | null>(null)
  const [said, setSaid] = useState('')
  const [kind, setKind] = useState<Kind>('tiles')

  useLayoutEffect(() => {
    const f = new Field(canvas.current!)
    field.current = f
    f.palette = palette()
    f.onKind = setKind
    // on a narrow page, which scrolls as a whole, the field is as high as it likes
    const fit = () => f.resize(frame.current!.clientWidth, narrow.matches ? 460 : frame.current!.clientHeight)
    if (store.known) f.update(store.known.rows, true, [])
    fit()
    let first = true
    const leave = store.listen((change) => {
      if (!store.known) return
      f.update(store.known.rows, change.structure, change.rows)
      if (first) {
        first = false
        requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('joiner-field')))
      }
    })
    const leaveTheme = onTheme(() => {
      f.palette = palette()
      f.redraw()
    })
    const observer = new ResizeObserver(fit)
    observer.observe(frame.current!)
    return () => {
      leave()
      leaveTheme()
      observer.disconnect()
    }
  }, [])

  useEffect(() => {
    const f = field.current!
    f.shown = shown
    f.color = color
    f.marks = marks
    f.redraw()
  }, [shown, color, marks])

  const show = (i: number) => {
    const f = field.current!
    const row = f.rows[i]
    const t = f.tiles[i]
    setTip(row && t ? { row, x: t.x + f.w, y: t.y + f.h - frame.current!.scrollTop } : null)
  }
  const move = (e: PointerEvent) => {
    const f = field.current!
    const box = canvas.current!.getBoundingClientRect()
    const i = f.at(e.clientX - box.left, e.clientY - box.top)
    if (i === f.hover) return
    const before = f.hover
    f.hover = i
    f.point(before, i)
    show(i)
  }
  const leave = () => {
    const f = field.current!
    const before = f.hover
    f.hover = -1
    f.point(before, -1)
    setTip(null)
  }
  const focusOn = (i: number) => {
    const f = field.current!
    const before = f.cursor
    f.cursor = i
    f.point(before, i)
    show(i)
    const row = f.rows[i]
    const t = f.tiles[i]
    if (row) setSaid(describe(row))
    if (t && frame.current) {
      if (t.y < frame.current.scrollTop) frame.current.scrollTop = t.y - 40
      if (t.y + f.h > frame.current.scrollTop + frame.current.clientHeight) frame.current.scrollTop = t.y + f.h - frame.current.clientHeight + 20
    }
  }
  const key = (e: KeyboardEvent) => {
    const f = field.current!
    const by = arrows[e.key]
    if (by) {
      e.preventDefault()
      focusOn(f.next(f.cursor, by[0], by[1]))
    }
    if (e.key === 'Home' || e.key === 'End') {
      e.preventDefault()
      focusOn(e.key === 'Home' ? 0 : f.rows.length - 1)
    }
    const row = f.rows[f.cursor]
    if ((e.key === 'Enter' || e.key === ' ') && row) {
      e.preventDefault()
      go('node', row.id)
    }
  }
  const blur = () => {
    const f = field.current!
    const before = f.cursor
    f.cursor = -1
    f.point(before, -1)
    setTip(null)
  }

  return (
    <section class="field" aria-labelledby="field-title">
      <div class="bar">
        <h2 id="field-title">Nodes</h2>
        <Legend color={color} kind={kind} marks={marks !== null} />
        <label class="choice">Color
          <select value={color} onChange={(e) => onColor(e.currentTarget.value as Color)}>
            <option value="capacity">capacity type</option>
            <option value="fill">requested</option>
            <option value="price">price</option>
          </select>
        </label>
        <button class="plain" onClick={onTable} title="As a table (v)">Table</button>
      </div>
      <div class="canvas" ref={frame}>
        <canvas ref={canvas} id="field" tabIndex={0} role="application" aria-roledescription="map of nodes"
          aria-label="Nodes by pool and zone. Arrow keys move, Enter opens a node. The same as a table: press v."
          onPointerMove={move} onPointerLeave={leave} onKeyDown={key} onBlur={blur}
          onFocus={() => { const f = field.current!; if (f.hover < 0 && f.rows.length > 0) focusOn(Math.max(0, f.cursor)) }}
          onClick={() => { const row = field.current!.rows[field.current!.hover]; if (row) go('node', row.id) }} />
        {store.known && store.known.rows.length === 0 ? (
          <div class="nothing">
            <p><b>No nodes.</b> Joiner launches some when pods are pending.</p>
            <p class="dim">{store.known.totals.waiting > 0 ? 'Pods are pending: the list says what for.' : 'To see one come: scale a Deployment beyond what the cluster has room for, with a NodePool that allows it.'}</p>
          </div>
        ) : null}
        {tip ? <Tip {...tip} width={frame.current!.clientWidth} height={frame.current!.clientHeight} /> : null}
      </div>
      <p class="hidden" aria-live="polite">{said}</p>
    </section>
  )
}

function describe(r: Row): string {
  return `${r.n}, pool ${r.p || 'none'}, ${r.t} ${r.c} in ${r.z}, ${r.s}, CPU ${percent(r.u, r.uh)}, memory ${percent(r.m, r.mh)}, ${r.k} pods, ${dollars(r.d)} per hour`
}

function Tip({ row: r, x, y, width, height }: { row: Row; x: number; y: number; width: number; height: number }) {
  const left = x + 270 > width ? Math.max(0, x - 290) : x + 4
  const top = y + 150 > height ? Math.max(0, y - 160) : y + 4
  return (
    <div class="tip" style={{ left: `${left}px`, top: `${top}px` }}>
      <strong>{shortNames(r.n)}</strong>
      <p>{r.t || 'type unknown'} {r.c} · {r.z || 'no zone yet'}</p>
      <dl>
        <dt>State</dt><dd class={r.s}>{r.s}{r.w ? `: ${r.w}` : ''}</dd>
        <dt>CPU</dt><dd>{percent(r.u, r.uh)} of {cpu(r.uh)}</dd>
        <dt>Memory</dt><dd>{percent(r.m, r.mh)} of {memory(r.mh)}</dd>
        <dt>Pods</dt><dd>{r.k}</dd>
        <dt>Price</dt><dd>{r.d > 0 ? `${dollars(r.d)} per hour` : 'unknown'}</dd>
        {r.b > 0 ? <><dt>Age</dt><dd>{span(store.now() - r.b)}</dd></> : null}
      </dl>
    </div>
  )
}

const bars: Record<Kind, ComponentChildren> = {
  cards: <span>bars: CPU and memory requested</span>,
  tiles: <span><i class="bars" />left CPU, right memory requested; area: vCPUs</span>,
  dots: <span>fill: the larger of CPU and memory requested</span>,
}

function Legend({ color, kind, marks }: { color: Color; kind: Kind; marks: boolean }) {
  if (marks) {
    return <p class="legend" data-testid="plan-legend"><span><i class="goes" />removed by the plan</span><span><i class="takes" />receives pods</span><span>others: unchanged</span></p>
  }
  if (color !== 'capacity') {
    return (
      <p class="legend"><span>{color === 'fill' ? 'empty' : 'cheap'}</span><i class="ramp" /><span>{color === 'fill' ? 'full' : 'expensive'}</span>{bars[kind]}</p>
    )
  }
  return (
    <p class="legend">
      <span><i class="spot" />spot</span><span><i class="demand" />on-demand</span><span><i class="reserved" />reserved</span>
      <span><i class="launching" />launching</span><span><i class="tainted" />to be disrupted</span><span><i class="draining" />draining</span>
      {bars[kind]}
    </p>
  )
}
