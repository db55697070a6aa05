// Pictures for people: shots.mjs FOLDER URL50 URL5000.

import { open } from './page.mjs'

const [folder, small, large] = process.argv.slice(2)

async function shot(name, url, options, steps = async () => {}) {
  const { browser, page } = await open(options, url)
  await steps(page)
  await page.waitForFunction(() => !document.querySelector('.could').textContent.includes('under way'))
  await page.waitForTimeout(600)
  await page.screenshot({ path: `${folder}/${name}.png` })
  await browser.close()
  console.log(name)
}

// The story of the small cluster comes and goes: at some times nothing is to be consolidated.
async function command(page) {
  const first = page.locator('.commands summary').first()
  for (let tries = 0; tries < 30 && !(await first.isVisible()); tries++) {
    await page.waitForTimeout(5000)
    if (!(await first.isVisible())) await page.getByRole('button', { name: 'Re-run' }).click()
  }
  await first.click()
}

await shot('console-50-dark', small, {})
await shot('console-50-light', small, { theme: 'light', path: '#/consolidation' }, command)
await shot('console-50-decision', small, { path: '#/decisions' }, async (page) => {
  await page.locator('a.entry', { hasText: /nodes? (for|removed)/ }).first().click() // an instance's end has no card
  await page.locator('.card summary').first().click()
})
await shot('console-50-phone', small, { width: 390, height: 844, scale: 2 })
await shot('console-50-phone-light', small, { width: 390, height: 844, scale: 2, theme: 'light', path: '#/waiting' })
await shot('console-5000-dark', large, {})
await shot('console-5000-light', large, { theme: 'light' }, async (page) => { await page.keyboard.press('c') })
await shot('console-5000-phone', large, { width: 390, height: 844, scale: 2 })
