import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Chart } from './chart'
import { DecisionView, PlanView } from './decision'
import { Consolidation } from './consolidation'
import type { Color, Marks } from './field'
import { FieldView } from './fieldview'
import { matches, parse } from './filter'
import { Help } from './help'
import { NodeView } from './node'
import { percent } from './format'
import { PoolList, PoolView } from './pools'
import { useSaving } from './saving'
import { Stats, Top } from './top'
import { go, useRoute } from './route'
import { store } from './store'
import { NodeTable } from './table'
import { toggleTheme } from './theme'
import { Timeline } from './timeline'
import { WaitingList } from './waiting'

const tabs = [
  { view: 'waiting', name: 'Pending' },
  { view: 'decisions', name: 'Decisions' },
  { view: 'consolidation', name: 'Consolidation' },
  { view: 'pools', name: 'NodePools' },
]

// useKnown has the component drawn anew when something changes, once a frame at most.
export function useKnown() {
  const [, bump] = useState(0)
  useEffect(() => store.eachFrame(() => bump((n) => n + 1)), [])
  return store.known
}

export function App() {
  const known = useKnown()
  const route = useRoute()
  const [query, setQuery] = useState('')
  const [help, setHelp] = useState(false)
  const [asTable, setAsTable] = useState(false)
  const [color, setColor] = useState<Color>('capacity')
  const [marks, setMarks] = useState<Marks | null>(null)
  const search = useRef<HTMLInputElement>(null)
  const saving = useSaving()
  const saved = saving ? saving.before - saving.after : 0
  const filter = useMemo(() => parse(query), [query])
  const shown = useMemo(() => (filter.length > 0 ? (r: Parameters<typeof matches>[1]) => matches(filter, r) : null), [filter])

  const section = route.view === 'decision' || route.view === 'plan' ? 'decisions' : route.view === 'pool' ? 'pools' : route.view
  const tab = tabs.some((t) => t.view === section) ? section : 'waiting'
  useEffect(() => {
    if (route.view !== 'consolidation' && route.view !== 'decision') setMarks(null)
  }, [route.view])

  const key = useCallback((e: KeyboardEvent) => {
    const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement
    if (e.key === 'Escape') {
      if (help) setHelp(false)
      else if (typing && query) setQuery('')
      else if (typing) (e.target as HTMLElement).blur()
      else history.length > 1 && ['node', 'decision', 'plan', 'pool'].includes(route.view) ? go(tab) : setMarks(null)
      return
    }
    if (typing || e.ctrlKey || e.metaKey || e.altKey) return
    const act: Record<string, () => void> = {
      '/': () => search.current?.focus(),
      '?': () => setHelp((h) => !h),
      '1': () => go('waiting'),
      '2': () => go('decisions'),
      '3': () => go('consolidation'),
      '4': () => go('pools'),
      p: () => go('plan'),
      n: () => document.getElementById(asTable ? 'table' : 'field')?.focus(),
      v: () => setAsTable((t) => !t),
      c: () => setColor((now) => (now === 'capacity' ? 'fill' : now === 'fill' ? 'price' : 'capacity')),
      t: toggleTheme,
      j: () => step(1),
      k: () => step(-1),
    }
    const action = act[e.key]
    if (!action) return
    e.preventDefault()
    action()
  }, [help, query, route.view, tab, asTable])
  // Before anything else happens: a key that follows at once must not meet what an earlier state made of it.
  useLayoutEffect(() => {
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [key])

  const detail = ['node', 'decision', 'plan', 'pool'].includes(route.view)
  return (
    <div class={`page ${detail ? 'has-detail' : ''}`}>
      <a class="skip" href="#side" onClick={(e) => { e.preventDefault(); document.getElementById('side')?.focus() }}>To the lists</a>
      <Top known={known} query={query} onQuery={setQuery} search={search} onHelp={() => setHelp(true)} />
      <Stats known={known} />
      <main class="main" aria-label="Nodes">
        {asTable
          ? <NodeTable known={known} shown={shown} marks={marks} onField={() => setAsTable(false)} />
          : <FieldView shown={shown} color={color} onColor={setColor} marks={marks} onTable={() => setAsTable(true)} />}
        <Chart known={known} />
      </main>
      <aside class="side" id="side" tabIndex={-1} aria-label="Pods, decisions and savings">
        <nav class="tabs" aria-label="Lists">
          {tabs.map((t, i) => (
            <a key={t.view} href={`#/${t.view}`} aria-current={tab === t.view ? 'page' : undefined} title={`${t.name} (${i + 1})`}>
              {t.name}
              {t.view === 'waiting' && known ? <span class={`badge ${known.waiting.some((w) => w.how === 'unplaced') ? 'bad' : ''}`}>{known.totals.waiting}</span> : null}
              {t.view === 'consolidation' && saving && saved > 0 ? <span class="badge good" title="could be saved">{percent(saved, saving.before)}</span> : null}
            </a>
          ))}
        </nav>
        <div class="list">
          {route.view === 'node' ? <NodeView key={route.id} id={route.id} />
            : route.view === 'decision' ? <DecisionView key={route.id} id={route.id} onMarks={setMarks} />
            : route.view === 'plan' ? <PlanView />
            : route.view === 'pool' ? <PoolView key={route.id} name={route.id} onFilter={setQuery} />
            : tab === 'pools' ? <PoolList />
            : tab === 'decisions' ? <Timeline known={known} filter={filter} />
            : tab === 'consolidation' ? <Consolidation onMarks={setMarks} />
            : <WaitingList known={known} filter={filter} />}
        </div>
      </aside>
      {help ? <Help onClose={() => setHelp(false)} /> : null}
    </div>
  )
}

// step moves the focus to the next or previous entry of the list that is shown.
function step(by: number) {
  const items = [...document.querySelectorAll<HTMLElement>('.list [data-item]')]
  const now = items.indexOf(document.activeElement as HTMLElement)
  items[Math.max(0, Math.min(items.length - 1, now < 0 ? 0 : now + by))]?.focus()
}
