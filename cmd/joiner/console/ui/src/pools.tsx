import { useEffect } from 'preact/hooks'
import { Copy } from './copy'
import { Back } from './decision'
import { clock, dollars, many, monthly, percent } from './format'
import { to } from './route'
import { store } from './store'
import type { Pool } from './types'
import { useAsk } from './use'

function usePools() {
  const answer = useAsk<Pool[]>('api/pools')
  useEffect(() => {
    const timer = setInterval(() => store.known?.about.live && answer.again(), 5000)
    return () => clearInterval(timer)
  }, [])
  return answer
}

const ready = (p: Pool) => p.conditions.every((c) => c.met)

export function PoolList() {
  const { value: pools, error } = usePools()
  if (error && !pools) return <p class="problem" role="alert">{error}</p>
  if (!pools) return <p class="empty">Reading the NodePools…</p>
  if (pools.length === 0) return <p class="empty">No NodePools. Joiner launches nothing without one.</p>
  return (
    <ul class="cards">
      {pools.map((p) => (
        <li key={p.name}>
          <a class="card pool" href={to('pool', p.name)} data-item>
            <span class="title">{p.name}</span>
            <span class={`tag ${ready(p) ? 'good' : 'bad'}`}>{ready(p) ? 'ready' : p.conditions.find((c) => !c.met)!.type}</span>
            <span class="more">
              {[many(p.nodes, 'node'), p.price > 0 ? `${dollars(p.price)}/h` : '', p.weight > 0 ? `weight ${p.weight}` : ''].filter(Boolean).join(' · ')}
            </span>
            {p.limits.map((l) => <Limit key={l.resource} l={l} />)}
          </a>
        </li>
      ))}
    </ul>
  )
}

function Limit({ l }: { l: Pool['limits'][number] }) {
  return (
    <span class="limit">
      <span class="dim">{l.resource}</span>
      <span class={`gauge ${l.share >= 0.9 ? 'near' : ''}`} aria-hidden="true"><i style={{ width: `${Math.min(100, Math.round(l.share * 100))}%` }} /></span>
      <span>{l.used} of {l.limit}</span>
    </span>
  )
}

export function PoolView({ name, onFilter }: { name: string; onFilter: (query: string) => void }) {
  const { value: pools, error } = usePools()
  const p = pools?.find((one) => one.name === name)
  return (
    <article class="detail">
      <Back view="pools" name="NodePools" />
      {error && !pools ? <p class="problem" role="alert">{error}</p> : null}
      {p ? <Body p={p} onFilter={onFilter} /> : pools ? <p class="problem" role="alert">NodePool {name} does not exist, or was deleted.</p> : error ? null : <p class="empty">Reading the NodePool…</p>}
    </article>
  )
}

function Body({ p, onFilter }: { p: Pool; onFilter: (query: string) => void }) {
  return (
    <>
      <h2>{p.name}</h2>
      <p class="facts">{p.class}{p.weight > 0 ? ` · weight ${p.weight}` : ''}{p.replicas === null ? '' : ` · static, ${many(p.replicas, 'replica')}`}</p>
      <div class="sums">
        <div><b>{p.nodes}</b><span>{p.nodes === 1 ? 'node' : 'nodes'}</span></div>
        <div><b>{p.price > 0 ? dollars(p.price) : '–'}</b><span>per hour</span></div>
        <div><b>{p.price > 0 ? monthly(p.price) : '–'}</b><span>per month</span></div>
      </div>
      <button class="button" onClick={() => onFilter(`pool:${p.name}`)}>Show its nodes</button>
      <h3>Conditions</h3>
      <ul class="plainlist">
        {p.conditions.map((c) => <li key={c.type}><span class={`tag ${c.met ? 'good' : 'bad'}`}>{c.met ? 'True' : 'False'}</span> {c.type}{c.message ? <span class="reason">{c.message}</span> : null}</li>)}
      </ul>
      <h3>Limits</h3>
      {p.limits.length > 0 ? p.limits.map((l) => <p key={l.resource}><Limit l={l} /></p>) : <p class="facts">None: it may grow without end.</p>}
      <h3>Disruption</h3>
      <dl class="pairs">
        <dt>Consolidation</dt><dd>{p.policy || 'WhenEmptyOrUnderutilized'}, after {p.consolidateAfter}</dd>
        <dt>Expires</dt><dd>{p.expireAfter === 'Never' ? 'never' : `after ${p.expireAfter}`}</dd>
        <dt>Budgets</dt><dd>{p.budgets.length > 0 ? p.budgets.map((b) => <div key={b}>{b}</div>) : 'none'}</dd>
        {p.allowed.map((a) => (
          <><dt key={a.reasons.join()}>{a.reasons.join(', ')}</dt>
            <dd>{a.problem ?? (a.most < 0 ? 'no limit' : `at most ${a.most} of ${many(a.of, 'node')} (${percent(a.most, a.of)}) at once; ${a.busy} ${a.busy === 1 ? 'is' : 'are'}`)}{a.until ? ` until ${clock(a.until)}` : ''}</dd></>
        ))}
      </dl>
      {p.requirements.length > 0 ? <h3>Requirements</h3> : null}
      <ul class="plainlist">{p.requirements.map((r) => <li key={r}>{r}</li>)}</ul>
      {p.taints.length > 0 ? <h3>Taints</h3> : null}
      <ul class="plainlist">{p.taints.map((t) => <li key={t}>{t}</li>)}</ul>
      <h3>With kubectl</h3>
      <Copy command={`kubectl describe nodepool ${p.name}`} />
      <Copy command={`kubectl get nodes -l karpenter.sh/nodepool=${p.name}`} />
    </>
  )
}
