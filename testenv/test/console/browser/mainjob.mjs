// The main job as the page shows it, from pods that wait to pods that are bound; the decision is opened and made once more. It says
// "scale" when pods are to be made, and "done" at the end.

import assert from 'node:assert/strict'
import { open, until } from './page.mjs'

const pods = Number(process.env.PODS)
const { browser, page, trouble } = await open({})
try {
  const before = await until(page, 'the cluster is shown', (t) => t.Nodes !== '–')
  const bound = Number(before.Pods)
  const states = new Set()
  await page.exposeFunction('joinerSaw', (text) => states.add(text))
  await page.evaluate(() => {
    const look = () => {
      joinerSaw(document.querySelector('.stat .more').textContent)
      requestAnimationFrame(look)
    }
    look()
  })
  console.log('scale')

  await until(page, 'pods wait', (t) => Number(t.Pending) > 0)
  await page.locator('.card.waiting').getByText('default/inflate').first().waitFor()
  const end = await until(page, 'pods are bound', (t) => Number(t.Pods) >= bound + pods && Number(t.Pending) === 0, 240_000)
  assert.ok(Number(end.Nodes) > Number(before.Nodes), `nodes: ${before.Nodes} became ${end.Nodes}`)
  assert.notEqual(end['Price per hour'], before['Price per hour'])
  assert.ok([...states].some((s) => /launching|joining/.test(s)), `no node was seen on its way: ${[...states].join(' | ')}`)

  await page.keyboard.press('2')
  const entry = page.locator('.entry', { hasText: /nodes? for \d+ pods?/ }).first()
  await entry.click()
  await page.getByText('Other types').first().waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Replay' }).click()
  await page.getByText('Identical').waitFor()

  await page.locator('.card.node summary').first().click()
  await page.locator('.card.node .plainlist a').first().click()
  await page.getByText('Launched for').first().waitFor()
  if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT })
  assert.deepEqual(trouble, [])
  console.log('done')
} catch (error) {
  await page.screenshot({ path: process.env.FAILED ?? 'failed.png' })
  console.error(error, trouble)
  process.exitCode = 1
} finally {
  await browser.close()
}
