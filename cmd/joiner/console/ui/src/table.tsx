import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Marks } from './field'
import { dollars, number, percent, shortNames, shortZone, span } from './format'
import { go } from './route'
import { store, type Known } from './store'
import type { Row } from './types'

const height = 26 // of a row, pixels

interface Column { name: string; of: (r: Row) => string; by: (r: Row) => string | number; right?: boolean }

const facts: Column[] = [
  { name: 'Node', of: (r) => shortNames(r.n), by: (r) => r.n },
  { name: 'Pool', of: (r) => r.p || '–', by: (r) => r.p },
  { name: 'Zone', of: (r) => shortZone(r.z), by: (r) => r.z },
  { name: 'Type', of: (r) => r.t, by: (r) => r.t },
  { name: 'Capacity type', of: (r) => r.c, by: (r) => r.c },
  { name: 'State', of: (r) => r.s, by: (r) => r.s },
  { name: 'CPU', of: (r) => percent(r.u, r.uh), by: (r) => (r.uh > 0 ? r.u / r.uh : -1), right: true },
  { name: 'Memory', of: (r) => percent(r.m, r.mh), by: (r) => (r.mh > 0 ? r.m / r.mh : -1), right: true },
  { name: 'Pods', of: (r) => number(r.k), by: (r) => r.k, right: true },
  { name: '$/hour', of: (r) => (r.d > 0 ? dollars(r.d) : '–'), by: (r) => r.d, right: true },
  { name: 'Age', of: (r) => (r.b > 0 ? span(store.now() - r.b) : '–'), by: (r) => -r.b, right: true },
]

// planOf is what the plan that is open would do with a node.
function planOf(marks: Marks): Column {
  const of = (r: Row) => (marks.goes.has(r.id) ? 'removed' : marks.takes.has(r.id) ? 'receives pods' : '')
  return { name: 'Plan', of, by: (r) => (of(r) === '' ? 'z' : of(r)) }
}

// NodeTable is the same nodes as rows; only those in sight are in the document.
export function NodeTable({ known, shown, marks, onField }: { known: Known | null; shown: ((r: Row) => boolean) | null; marks: Marks | null; onField: () => void }) {
  const frame = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [seen, setSeen] = useState(600)
  const columns = useMemo(() => (marks ? [...facts, planOf(marks)] : facts), [marks])
  const [sort, setSort] = useState<{ column: number; down: boolean } | null>(null)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setSeen(frame.current!.clientHeight))
    observer.observe(frame.current!)
    return () => observer.disconnect()
  }, [])
  const all = known?.rows ?? []
  const rows = useMemo(() => {
    const kept = shown ? all.filter(shown) : [...all]
    const column = sort && columns[sort.column]
    if (column) kept.sort((a, b) => { const x = column.by(a), y = column.by(b); return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1) })
    return kept
  }, [all, known?.totals, shown, sort, columns])
  const first = Math.max(0, Math.floor(top / height) - 8)
  const last = Math.min(rows.length, Math.ceil((top + seen) / height) + 8)
  return (
    <section class="field" aria-labelledby="table-title">
      <div class="bar">
        <h2 id="table-title">Nodes</h2>
        <p class="legend">{number(rows.length)} of {number(all.length)}</p>
        <button class="plain" onClick={onField} title="As a field (v)">Field</button>
      </div>
      <div class="rows" id="table" ref={frame} tabIndex={0} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <table aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              {columns.map((c, i) => (
                <th key={c.name} scope="col" class={c.right ? 'right' : ''} aria-sort={sort?.column === i ? (sort.down ? 'descending' : 'ascending') : 'none'}>
                  <button onClick={() => setSort((s) => (s?.column === i ? { column: i, down: !s.down } : { column: i, down: Boolean(c.right) }))}>{c.name}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 ? <tr style={{ height: `${first * height}px` }} aria-hidden="true" /> : null}
            {rows.slice(first, last).map((r, i) => (
              <tr key={r.id} aria-rowindex={first + i + 2} tabIndex={0} class={r.s} onClick={() => go('node', r.id)}
                onKeyDown={(e) => { if (e.key === 'Enter') go('node', r.id) }}>
                {columns.map((c) => <td key={c.name} class={c.right ? 'right' : ''}>{c.of(r)}</td>)}
              </tr>
            ))}
            {last < rows.length ? <tr style={{ height: `${(rows.length - last) * height}px` }} aria-hidden="true" /> : null}
          </tbody>
        </table>
      </div>
    </section>
  )
}
