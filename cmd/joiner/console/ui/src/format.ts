const count = new Intl.NumberFormat('en-US')
const cents = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const fine = new Intl.NumberFormat('en-US', { minimumFractionDigits: 4, maximumFractionDigits: 4 })
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

export const hoursPerMonth = 730

export const number = (n: number) => count.format(n)

// Dollars of micro-dollars: four places below a dollar, two below 10,000.
export function dollars(micro: number): string {
  const sign = micro < 0 ? '−' : ''
  const usd = Math.abs(micro) / 1e6
  return `${sign}$${usd === 0 ? '0' : usd < 1 ? fine.format(usd) : usd < 10_000 ? cents.format(usd) : whole.format(usd)}`
}

export const monthly = (micro: number) => {
  const usd = (Math.abs(micro) / 1e6) * hoursPerMonth
  return `${micro < 0 ? '−' : ''}$${usd < 100 ? cents.format(usd) : whole.format(usd)}`
}

export const percent = (part: number, of: number) => (of > 0 ? `${Math.round((100 * part) / of)}%` : '–')

export function cpu(milli: number): string {
  const cores = milli / 1000
  return cores >= 100 ? whole.format(cores) : cores >= 10 ? cores.toFixed(1) : cores.toFixed(2).replace(/0$/, '')
}

export function memory(mib: number): string {
  if (mib >= 1024 * 1024) return `${(mib / 1024 / 1024).toFixed(1)} TiB`
  if (mib >= 1024) return `${(mib / 1024).toFixed(mib >= 102400 ? 0 : 1)} GiB`
  return `${mib} MiB`
}

// How long ago, or how long, in the largest unit that says enough.
export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min`
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`
}

// memoryOf and cpuOf are a share of a whole in one unit: "20/180 GiB", "12.5/96 cores".
export function memoryOf(used: number, has: number): string {
  const [unit, by] = has >= 1024 * 1024 ? ['TiB', 1024 * 1024] : has >= 1024 ? ['GiB', 1024] : ['MiB', 1]
  const short = (n: number) => (n / by >= 10 || by === 1 ? whole.format(n / by) : (n / by).toFixed(1))
  return `${short(used)}/${short(has)} ${unit}`
}

export function cpuOf(used: number, has: number): string {
  const short = (n: number) => (n >= 10_000 ? whole.format(n / 1000) : cpu(n).replace(/\.0$/, ''))
  return `${short(used)}/${short(has)} cores`
}

// Names of nodes without the domain that all of a cluster share, alone or in a text.
export const shortNames = (text: string) => text.replace(/\.(?:[a-z0-9-]+\.compute|ec2)\.internal\b/g, '')

// Zones as people say them: 2a of us-west-2a, lax-1a of us-west-2-lax-1a.
export function shortZone(zone: string): string {
  return /^[a-z]{2,3}(?:-[a-z]+)+-(\d+[a-z])$/.exec(zone)?.[1] ?? /^[a-z]{2,3}(?:-[a-z]+)+-\d+-(.+)$/.exec(zone)?.[1] ?? zone
}

export const clock = (unix: number) => new Date(unix * 1000).toLocaleTimeString('en-GB')
export const moment = (unix: number) => new Date(unix * 1000).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export const many = (n: number, what: string) => `${number(n)} ${what}${n === 1 ? '' : 's'}`
