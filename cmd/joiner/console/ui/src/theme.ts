import type { Palette } from './field'

export type Theme = 'dark' | 'light'

const wish = matchMedia('(prefers-color-scheme: light)')
const key = 'joiner-theme'
const listeners = new Set<() => void>()

function kept(): Theme | null {
  try {
    const value = localStorage.getItem(key)
    return value === 'dark' || value === 'light' ? value : null
  } catch {
    return null // storage is forbidden; the system's wish counts
  }
}

export const theme = (): Theme => kept() ?? (wish.matches ? 'light' : 'dark')

function apply() {
  document.documentElement.dataset.theme = theme()
  for (const listener of listeners) listener()
}

export function toggleTheme() {
  const next: Theme = theme() === 'dark' ? 'light' : 'dark'
  try {
    localStorage.setItem(key, next)
  } catch {
    // it lasts as long as the page then
  }
  document.documentElement.dataset.theme = next
  for (const listener of listeners) listener()
}

export function onTheme(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function startTheme() {
  wish.addEventListener('change', apply)
  apply()
}

// palette reads the colors that canvases draw with from the style sheet.
export function palette(): Palette {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim()
  return {
    panel: of('panel'), raised: of('raised'), line: of('line'), text: of('text'), dim: of('dim'), track: of('track'), spot: of('spot'), demand: of('demand'), reserved: of('reserved'),
    other: of('other'), warn: of('amber'), bad: of('bad'), focus: of('focus'),
    ramp: [1, 2, 3, 4, 5, 6].map((n) => of(`ramp-${n}`)),
    font: getComputedStyle(document.body).fontFamily,
  }
}
