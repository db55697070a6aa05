import { clock, dollars, many, shortNames } from './format'
import { matchesEntry, type Filter } from './filter'
import { to } from './route'
import type { Known } from './store'
import type { Entry } from './types'

export function Timeline({ known, filter }: { known: Known | null; filter: Filter }) {
  const entries = (known?.entries ?? []).filter((e) => matchesEntry(filter, e))
  const days = new Map<string, Entry[][]>()
  for (const group of grouped(entries)) {
    const day = new Date(group[0]!.at * 1000).toDateString()
    days.set(day, [...(days.get(day) ?? []), group])
  }
  return (
    <>
      <div class="lead">
        <p>{entries.length > 0 ? 'Decisions, newest first.' : known && !known.about.live ? 'Files have no decisions.' : 'No decisions in this time.'}</p>
        <a class="button" href={to('plan')} title="What would be launched now (p)">Plan now</a>
      </div>
      {[...days].map(([day, of]) => (
        <section key={day}>
          {days.size > 1 ? <h3 class="day">{day}</h3> : null}
          <ol class="timeline">{of.map((g) => <li key={g[0]!.id}>{g.length > 1 ? <Several of={g} /> : <Line e={g[0]!} />}</li>)}</ol>
        </section>
      ))}
    </>
  )
}

// grouped joins entries that people take for one thing: nodes that end in one minute of one cause, and runs in a row that launched
// nothing for the same pods.
export function grouped(entries: Entry[]): Entry[][] {
  const out: Entry[][] = []
  const ends = new Map<string, Entry[]>()
  for (const e of entries) {
    const last = out[out.length - 1]
    if (e.kind === 'removal') {
      const key = [Math.floor(e.at / 60), e.trigger, ...(e.pools ?? [])].join('|')
      const same = ends.get(key)
      if (same) {
        same.push(e)
        continue
      }
      const group = [e]
      ends.set(key, group)
      out.push(group)
    } else if (last && idle(e) && idle(last[0]!) && last[0]!.title === e.title) {
      last.push(e)
    } else {
      out.push([e])
    }
  }
  return out
}

const idle = (e: Entry) => e.kind === 'provision' && e.nodes === 0 && e.failed === 0

// toneOf is red for what nobody wanted alone.
function toneOf(e: Entry): string {
  if (e.kind === 'removal') return e.by === 'people' ? 'asked' : e.by === 'joiner' ? 'back' : 'lost'
  return e.kind === 'disrupt' ? 'back' : e.nodes > 0 ? 'came' : 'none'
}

const money = (price: number) => (price === 0 ? '' : `${price > 0 ? '+' : ''}${dollars(price)}/h`)

function Several({ of }: { of: Entry[] }) {
  const first = of[0]!
  const ends = first.kind === 'removal'
  return (
    <details class="several">
      <summary class={`entry ${toneOf(first)}`} data-item>
        <time dateTime={new Date(first.at * 1000).toISOString()}>{clock(first.at)}</time>
        <span class="title">{ends ? `${many(of.length, 'node')} terminated` : first.title}</span>
        <span class="money">{money(of.reduce((sum, e) => sum + e.price, 0))}</span>
        <span class="more">{ends ? [first.trigger, (first.pools ?? []).join(', ')].filter(Boolean).join(' · ') : `${of.length} runs without effect since ${clock(of[of.length - 1]!.at)}`}</span>
      </summary>
      <ul class="plainlist">
        {of.slice(0, 100).map((e) => <li key={e.id}><a href={to('decision', e.id)}>{ends ? shortNames(e.title).replace(/ terminated$/, '') : clock(e.at)}</a> <span class="dim">{money(e.price)}</span></li>)}
        {of.length > 100 ? <li class="dim">and {of.length - 100} more</li> : null}
      </ul>
    </details>
  )
}

function Line({ e }: { e: Entry }) {
  return (
    <a class={`entry ${toneOf(e)}`} href={to('decision', e.id)} data-item>
      <time dateTime={new Date(e.at * 1000).toISOString()}>{clock(e.at)}</time>
      <span class="title">{shortNames(e.title)}</span>
      <span class="money">{money(e.price)}</span>
      <span class="more">
        {[e.trigger, (e.pools ?? []).join(', '), e.kind === 'disrupt' && e.pods > 0 ? `${e.pods} pods move` : ''].filter(Boolean).join(' · ')}
        {e.failed > 0 ? <span class="tag warn">{e.failed} without capacity</span> : null}
        {e.left > 0 ? <span class="tag bad">{e.left} unschedulable</span> : null}
      </span>
    </a>
  )
}
