import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { cpuOf, dollars, memoryOf, monthly, number, percent, span } from './format'
import { to } from './route'
import { useSaving } from './saving'
import { store, type Known } from './store'
import { toggleTheme } from './theme'
import type { NodeState } from './types'

interface Props {
  known: Known | null
  query: string
  onQuery: (text: string) => void
  search: RefObject<HTMLInputElement | null>
  onHelp: () => void
}

export function Top({ known, query, onQuery, search, onHelp }: Props) {
  return (
    <header class="top">
      <div class="brand"><img src="icon.svg" alt="" width="22" height="22" /><span>joiner</span></div>
      <h1 class="cluster" title={known?.about.from}>{known?.about.cluster || 'cluster'}</h1>
      <Source known={known} />
      <label class="search">
        <span class="hidden">Filter nodes, pods and decisions</span>
        <input ref={search} type="search" placeholder="Filter: pool:web zone:1a spot state:draining" value={query}
          onInput={(e) => onQuery(e.currentTarget.value)} spellcheck={false} autocomplete="off" />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <button class="icon" onClick={toggleTheme} title="Dark or light (t)" aria-label="Dark or light">◐</button>
      <button class="icon" onClick={onHelp} title="Keys and colors (?)" aria-label="Keys and colors">?</button>
    </header>
  )
}

// useClock has the component drawn anew each second, for ages.
function useClock() {
  const [now, set] = useState(() => Date.now() / 1000)
  useEffect(() => {
    const timer = setInterval(() => set(Date.now() / 1000), 1000)
    return () => clearInterval(timer)
  }, [])
  return now
}

function Source({ known }: { known: Known | null }) {
  const now = useClock()
  if (!known) return <p class="source" role="status">reading</p>
  const { about } = known
  const silent = about.live && about.heartbeat > 0 && now - about.heartbeat > 60
  const trouble = !store.connected ? 'connection lost; trying again' : (about.problem ?? (silent ? `last heartbeat of the watcher ${span(now - about.heartbeat)} ago` : ''))
  const text = trouble || (about.live ? `live · snapshot ${span(now - about.at)} old` : about.from)
  const more = [about.from, ...about.stopped, ...about.warnings]
  return (
    <p class={`source ${trouble ? 'bad' : about.live ? 'live' : ''}`} role="status" title={[trouble, ...more].filter(Boolean).join('\n')}>
      <span class="dot" aria-hidden="true" />{text}
      {about.stopped.length > 0 ? <span class="tag warn" title={about.stopped.join('\n')}>{about.stopped[0]!.includes('paused') ? 'paused' : 'stopped'}</span> : null}
      {about.warnings.length > 0 ? <span class="tag" title={about.warnings.join('\n')}>{about.warnings.length} {about.warnings.length === 1 ? 'warning' : 'warnings'}</span> : null}
    </p>
  )
}

const states: [NodeState, string][] = [['launching', 'launching'], ['joining', 'joining'], ['unready', 'not ready'], ['tainted', 'to be disrupted'], ['draining', 'draining']]

export function Stats({ known }: { known: Known | null }) {
  const t = known?.totals
  const nodes = t ? Object.values(t.nodes).reduce((a, b) => a + (b ?? 0), 0) : 0
  const rest = t ? states.filter(([s]) => t.nodes[s]).map(([s, name]) => `${number(t.nodes[s]!)} ${name}`) : []
  if (t && t.others > 0) rest.push(`${number(t.others)} without a NodePool`)
  const unplaced = known?.waiting.filter((w) => w.how === 'unplaced').reduce((sum, w) => sum + w.pods, 0) ?? 0
  return (
    <section class="stats" aria-label="Totals">
      <Stat name="Nodes" value={t ? number(nodes) : '–'} more={t && nodes === 0 ? 'none yet' : rest.join(', ') || 'all ready'} />
      <Stat name="Pods" value={t ? number(t.bound) : '–'} more={t && t.bound > 0 ? 'bound to a node' : ''} />
      <Stat name="Pending" value={t ? number(t.waiting) : '–'} tone={unplaced > 0 ? 'bad' : undefined} more={unplaced > 0 ? `${number(unplaced)} unschedulable` : t?.waiting ? 'a node exists or is in flight' : ''} />
      <Stat name="CPU requested" value={t ? percent(t.cpu, t.cpuHas) : '–'} meter={t && t.cpuHas > 0 ? t.cpu / t.cpuHas : 0} more={t && t.cpuHas > 0 ? cpuOf(t.cpu, t.cpuHas) : ''} />
      <Stat name="Memory requested" value={t ? percent(t.memory, t.memoryHas) : '–'} meter={t && t.memoryHas > 0 ? t.memory / t.memoryHas : 0} more={t && t.memoryHas > 0 ? memoryOf(t.memory, t.memoryHas) : ''} />
      <Stat name="Price per hour" value={t ? dollars(t.price) : '–'} more={t ? (t.unpriced > 0 ? `${t.unpriced} nodes’ price unknown` : t.price > 0 ? `${monthly(t.price)} per month` : '') : ''} />
      <Could nodes={nodes} />
    </section>
  )
}

// Could is what consolidation could save, with the way there.
function Could({ nodes }: { nodes: number }) {
  const s = useSaving()
  const saved = s ? s.before - s.after : 0
  const more = !s ? (nodes > 0 ? 'a dry run is under way' : '') : saved > 0 ? `a month, ${percent(saved, s.before)}` : 'nothing to consolidate'
  return (
    <a class={`stat could ${saved > 0 ? 'good' : ''}`} href={to('consolidation')} title={s ? `dry run of ${new Date(s.at * 1000).toLocaleTimeString('en-GB')}; opens it (3)` : 'What consolidation could save'}>
      <h2>Could save</h2>
      <p class="value">{s ? (saved > 0 ? monthly(saved) : '$0') : '–'}</p>
      {more ? <p class="more">{more}</p> : null}
    </a>
  )
}

function Stat({ name, value, more, meter, tone }: { name: string; value: string; more: string; meter?: number | undefined; tone?: string | undefined }) {
  return (
    <div class={`stat ${tone ?? ''}`}>
      <h2>{name}</h2>
      <p class="value">{value}</p>
      {meter !== undefined ? <div class="meter" aria-hidden="true"><i style={{ width: `${Math.min(100, Math.round(meter * 100))}%` }} /></div> : null}
      {more ? <p class="more">{more}</p> : null}
    </div>
  )
}
