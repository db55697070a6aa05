import { useEffect, useState } from 'preact/hooks'
import { Moves, NewNodes } from './decision'
import type { Marks } from './field'
import { clock, dollars, many, monthly, number, percent, shortNames, shortZone } from './format'
import { to } from './route'
import { setSaving } from './saving'
import { store } from './store'
import type { Command, DryRun } from './types'
import { useAsk } from './use'

export function Consolidation({ onMarks }: { onMarks: (m: Marks | null) => void }) {
  const { value: d, error, again } = useAsk<DryRun>('api/dryrun')
  const [opened, setOpened] = useState(-1)
  const there = store.known !== null // the answer may come before the nodes that it is about
  useEffect(() => {
    if (!d || d.commands.length === 0) {
      onMarks(null)
      return
    }
    const of = opened >= 0 && d.commands[opened] ? [d.commands[opened]] : d.commands
    onMarks({
      goes: new Set(of.flatMap((c) => c.goes.map((g) => g.id))),
      takes: new Set(of.flatMap((c) => c.moves.map((m) => store.rowNamed(m.to)?.id ?? ''))),
    })
  }, [d, opened, there])
  useEffect(() => () => onMarks(null), [])
  useEffect(() => {
    if (d) setSaving({ at: d.at, before: d.before, after: d.after, nodes: d.commands.reduce((n, c) => n + c.goes.length, 0) })
  }, [d])
  if (error && !d) return <p class="problem" role="alert">{error}</p>
  if (!d) return <p class="empty">Planning consolidation…</p>
  const saved = d.before - d.after
  const going = d.commands.reduce((n, c) => n + c.goes.length, 0)
  return (
    <>
      <div class="lead">
        <p>What voluntary disruption would remove now, and the savings. This is a dry run.</p>
        <button class="button" onClick={again} title="Run again">Re-run</button>
      </div>
      {d.stopped.map((s) => <p class="problem" key={s}>{s}</p>)}
      <div class="sums" data-testid="savings">
        <div><b class={saved > 0 ? 'good' : ''}>{dollars(saved)}</b><span>saved per hour</span></div>
        <div><b>{monthly(saved)}</b><span>saved per month</span></div>
        <div><b>{percent(saved, d.before)}</b><span>of {dollars(d.before)}</span></div>
        <div><b>{number(going)}</b><span>nodes removed</span></div>
        <div><b>{number(d.pods)}</b><span>pods move</span></div>
      </div>
      {d.commands.length === 0 ? <p class="empty">Nothing to consolidate.</p> : null}
      <ol class="cards commands">
        {d.commands.map((c, i) => <li key={i}><CommandCard c={c} n={i + 1} onOpen={(open) => setOpened(open ? i : -1)} /></li>)}
      </ol>
      {d.again ? <p class="facts">Valid until {clock(d.again)}.</p> : null}
      {d.kept.length > 0 ? <h3>Stays, and why</h3> : null}
      <ul class="cards">
        {d.kept.map((g) => (
          <li key={g.code}>
            <details class="card kept">
              <summary data-item><span class="title">{g.code}</span><span class="count">{many(g.nodes.length, 'node')}</span><span class="why">{shortNames(g.nodes[0]!.reasons[0]!.message)}</span></summary>
              <ul class="plainlist">
                {g.nodes.slice(0, 60).map((n) => (
                  <li key={n.id}><a href={to('node', n.id)}>{shortNames(n.name)}</a>{n.reasons.map((r) => <span key={r.message} class="reason"><b>{r.code}</b>: {shortNames(r.message)}</span>)}</li>
                ))}
              </ul>
              {g.nodes.length > 60 ? <p class="facts">and {number(g.nodes.length - 60)} more</p> : null}
            </details>
          </li>
        ))}
      </ul>
    </>
  )
}

export function CommandCard({ c, n, open, onOpen }: { c: Command; n: number; open?: boolean; onOpen?: (open: boolean) => void }) {
  const pools = [...new Set(c.goes.map((g) => g.pool))].filter(Boolean) // none of nodes that are gone
  const price = c.goes.reduce((sum, g) => sum + g.price, 0)
  return (
    <details class="card command" open={open} onToggle={(e) => onOpen?.(e.currentTarget.open)}>
      <summary data-item>
        <span class="title">{n}. {c.reason}</span>
        <span class={`money ${c.savings > 0 ? 'good' : ''}`}>{c.savings >= 0 ? 'saves ' : 'costs '}{dollars(Math.abs(c.savings))}/h</span>
        <span class="more">
          {many(c.goes.length, 'node')}{pools.length > 0 ? ` of ${pools.join(', ')}` : ''}
          {c.comes.length > 0 ? ` · ${many(c.comes.length, 'replacement')}` : ''} · {many(c.pods, 'pod')} {c.pods === 1 ? 'moves' : 'move'} · {monthly(c.savings)} per month
        </span>
      </summary>
      <h4>Removed{price > 0 ? `, ${dollars(price)} per hour` : ''}</h4>
      <ul class="plainlist">
        {c.goes.map((g) => <li key={g.id}><a href={to('node', g.id)}>{shortNames(g.name)}</a> <span class="dim">{g.type ? `${[g.type, g.capacity, shortZone(g.zone)].filter(Boolean).join(' ')}${g.price > 0 ? `, ${dollars(g.price)}/h` : ''}, ${many(g.pods, 'pod')}` : ''}</span></li>)}
      </ul>
      {c.comes.length > 0 ? <h4>Replacements</h4> : null}
      {c.comes.length > 0 ? <div><NewNodes nodes={c.comes} dry /></div> : null}
      {c.moves.length > 0 ? <h4>Pods go to</h4> : null}
      <Moves moves={c.moves} />
    </details>
  )
}
