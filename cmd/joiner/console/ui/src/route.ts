import { useEffect, useState } from 'preact/hooks'

// Where the page is: what the address says after #/. Back and forward work, and an address can be kept.
export interface Route { view: string; id: string }

export function route(): Route {
  const [view = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/')
  return { view: view || 'waiting', id: rest.map(decodeURIComponent).join('/') }
}

export const to = (view: string, id = '') => `#/${view}${id ? '/' + id.split('/').map(encodeURIComponent).join('/') : ''}`

export function go(view: string, id = '') {
  location.hash = to(view, id)
}

export function useRoute(): Route {
  const [now, set] = useState(route)
  useEffect(() => {
    const changed = () => set(route())
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return now
}
