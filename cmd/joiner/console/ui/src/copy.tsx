import { useState } from 'preact/hooks'

// Copy is a command to paste into a shell.
export function Copy({ command }: { command: string }) {
  const [done, set] = useState(false)
  const copy = () => {
    navigator.clipboard?.writeText(command).then(() => {
      set(true)
      setTimeout(() => set(false), 1500)
    }, () => set(false))
  }
  return (
    <p class="copy">
      <code>{command}</code>
      <button class="plain" onClick={copy} aria-label={`Copy ${command}`}>{done ? 'Copied' : 'Copy'}</button>
    </p>
  )
}
