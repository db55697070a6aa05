import { clock, dollars } from './format'
import { matchesEntry, type Filter } from './filter'
import { to } from './route'
import type { Known } from './store'
import type { Entry } from './types'

export function Timeline({ known, filter }: { known: Known | null; filter: Filter }) {
  const entries = (known?.entries ?? []).filter((e) => matchesEntry(filter, e))
  const days = new Map<string, Entry[]>()
  for (const e of entries) {
    const day = new Date(e.at * 1000).toDateString()
    days.set(day, [...(days.get(day) ?? []), e])
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
          <ol class="timeline">{of.map((e) => <li key={e.id}><Line e={e} /></li>)}</ol>
        </section>
      ))}
    </>
  )
}

function Line({ e }: { e: Entry }) {
  const tone = e.kind === 'removal' ? 'lost' : e.kind === 'disrupt' ? 'back' : e.nodes > 0 ? 'came' : 'none'
  return (
    <a class={`entry ${tone}`} href={to('decision', e.id)} data-item>
      <time dateTime={new Date(e.at * 1000).toISOString()}>{clock(e.at)}</time>
      <span class="title">{e.title}</span>
      <span class="money">{e.price === 0 ? '' : `${e.price > 0 ? '+' : ''}${dollars(e.price)}`}</span>
      <span class="more">
        {[e.trigger, (e.pools ?? []).join(', '), e.kind === 'disrupt' && e.pods > 0 ? `${e.pods} pods move` : ''].filter(Boolean).join(' · ')}
        {e.failed > 0 ? <span class="tag warn">{e.failed} without capacity</span> : null}
        {e.left > 0 ? <span class="tag bad">{e.left} unschedulable</span> : null}
      </span>
    </a>
  )
}
