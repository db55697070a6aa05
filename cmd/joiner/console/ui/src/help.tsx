import { useEffect, useRef } from 'preact/hooks'

const keys: [string, string][] = [
  ['/', 'filter'], ['1 2 3 4', 'pending, decisions, consolidation, NodePools'], ['p', 'plan for pending pods'], ['j k', 'next, previous entry of the list'],
  ['Enter', 'open it'], ['r', 'replay the decision that is open'], ['n', 'to the nodes; arrows move, Enter opens'], ['v', 'nodes as field or table'],
  ['c', 'color by capacity type, requested, price'], ['t', 'dark or light'], ['Esc', 'back, or clear the filter'], ['?', 'this'],
]

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose} onClick={(e) => { if (e.target === dialog.current) onClose() }}>
      <h2 id="help-title">Keys</h2>
      <dl>{keys.map(([k, what]) => <><dt key={k}>{k.split(' ').map((one) => <kbd key={one}>{one}</kbd>)}</dt><dd>{what}</dd></>)}</dl>
      <h2>A card or tile is a node</h2>
      <p>Up to 60 nodes are cards, with bars for the CPU and the memory that pods request. More are tiles: each fills from below, left CPU, right memory; its area is its vCPUs. Small tiles show the larger share of the two.</p>
      <p class="legend">
        <span><i class="spot" />spot</span><span><i class="demand" />on-demand</span><span><i class="reserved" />reserved</span><span><i class="other" />no NodePool</span>
      </p>
      <p class="legend">
        <span><i class="launching" />launching</span><span><i class="joining" />joining</span><span><i class="tainted" />to be disrupted</span><span><i class="draining" />draining</span><span><i class="unready" />not ready</span>
      </p>
      <p class="legend">
        <span><i class="goes" />removed by the plan that is open</span><span><i class="takes" />receives pods</span>
      </p>
      <p class="facts">The filter takes words, all of which must be found, and pool:, zone:, type:, state:, capacity:, name:.</p>
      <p class="facts"><a href="licenses.txt">Licenses</a> of the packages in this page</p>
      <form method="dialog"><button class="button">Close</button></form>
    </dialog>
  )
}
