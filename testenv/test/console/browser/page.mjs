// What every script here begins with: a browser, and pages whose errors are not overheard.

import { chromium } from 'playwright-core'

export const url = process.env.CONSOLE_URL ?? process.argv[2]

export async function open({ width = 1440, height = 900, theme = 'dark', path = '', scale = 1, motion = 'reduce', before = async () => {} } = {}, of = url) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, deviceScaleFactor: scale, reducedMotion: motion, locale: 'en-GB', timezoneId: 'UTC' })
  const page = await context.newPage()
  page.setDefaultTimeout(90_000)
  const trouble = []
  page.on('pageerror', (e) => trouble.push(`error: ${e.message}`))
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') trouble.push(`${m.type()}: ${m.text()}`)
  })
  page.on('request', (r) => {
    const to = new URL(r.url())
    if (to.protocol !== 'data:' && to.origin !== new URL(of).origin) trouble.push(`a request to ${to.origin}`)
  })
  await before(page)
  await page.goto(of + path)
  await page.waitForFunction(() => performance.getEntriesByName('joiner-field').length > 0)
  return { browser, page, trouble }
}

// totals are the numbers at the head of the page, by name: dashes until the page is rendered, which may be frames after the field is.
const totals = (page) =>
  page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.stat')].map((s) => [s.querySelector('h2').textContent, s.querySelector('.value').textContent])))

// until waits for what a function of the page's totals says.
export async function until(page, what, is, milliseconds = 120_000) {
  const end = Date.now() + milliseconds
  for (;;) {
    const now = await totals(page)
    if (is(now)) return now
    if (Date.now() > end) throw new Error(`${what}: it is ${JSON.stringify(now)} after ${milliseconds / 1000} s`)
    await page.evaluate(() => new Promise(requestAnimationFrame))
  }
}
