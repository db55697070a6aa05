// The page of files: cmd/joiner/testdata/night at two in the morning, whose dry run docs/concepts/disruption.md prints.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { open, until } from './page.mjs'

const axe = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

async function on(options, steps) {
  const { browser, page, trouble } = await open(options)
  try {
    await steps(page)
    assert.deepEqual(trouble, [])
  } finally {
    await browser.close()
  }
}

test('the head of the page says what the plan says', () => on({}, async (page) => {
  await until(page, 'the head of the page', (now) => now.Nodes === '9' && now['Price per hour'] === '$2.60')
}))

test('a dry run of giving back is opened', () => on({}, async (page) => {
  await page.keyboard.press('3')
  await page.getByTestId('savings').getByText('$1.59').waitFor()
  const sums = await page.getByTestId('savings').innerText()
  for (const word of ['$1,159', '61%', '5', '4']) assert.ok(sums.includes(word), `${word} is not in ${sums}`)
  const commands = page.locator('.commands > li')
  assert.equal(await commands.count(), 3)
  assert.match(await commands.nth(0).innerText(), /Empty[\s\S]*saves \$0\.58\d*\/h/)
  await commands.nth(2).locator('summary').first().click()
  const text = await commands.nth(2).innerText()
  for (const word of ['ip-10-0-0-2', 'ip-10-0-0-3', 'm7i.2xlarge on-demand', 'Pods go to']) assert.ok(text.includes(word), `${word} is not in ${text}`)
  const kept = await page.locator('.card.kept').allInnerTexts()
  assert.ok(kept.some((k) => k.includes('DisruptionBudget') && k.includes('shop/ledger')), kept.join('\n'))
}))

test('everything is reached by keys', () => on({}, async (page) => {
  await page.keyboard.press('n')
  const said = () => page.locator('.field [aria-live]').innerText()
  await page.waitForFunction(() => document.querySelector('.field [aria-live]').textContent !== '')
  const first = await said()
  assert.match(first, /pool default.*ready.*CPU \d+%/)
  await page.keyboard.press('ArrowRight')
  await page.waitForFunction((was) => document.querySelector('.field [aria-live]').textContent !== was, first)
  await page.keyboard.press('Enter')
  await page.locator('.detail h2').getByText('ip-10-0-0-').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.detail').waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('v')
  await page.locator('#table tbody tr').first().waitFor()
  assert.equal(await page.locator('#table tbody tr').count(), 9)
  await page.keyboard.press('/')
  await page.keyboard.type('type:m7i.2x')
  await page.waitForFunction(() => document.querySelectorAll('#table tbody tr').length < 9)
  for (const row of await page.locator('#table tbody tr').allInnerTexts()) assert.ok(row.includes('m7i.2xlarge'), row)
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.querySelectorAll('#table tbody tr').length === 9)
  const before = await page.evaluate(() => document.documentElement.dataset.theme)
  await page.keyboard.press('Escape')
  await page.keyboard.press('t')
  assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), before)
  await page.reload()
  assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), before, 'the choice is forgotten')
}))

// Keys may follow each other faster than frames: the second Escape here comes as soon as the first has changed the page.
test('a key meets what the key before it has done', () => on({}, async (page) => {
  await page.keyboard.press('v')
  await page.locator('#table tbody tr').first().waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('type:m7i.2x')
  await page.waitForFunction(() => document.querySelectorAll('#table tbody tr').length < 9)
  const left = await page.evaluate(async () => {
    const field = document.activeElement
    const escape = () => field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
    escape()
    for (let i = 0; i < 1000 && document.querySelectorAll('#table tbody tr').length < 9; i++) await Promise.resolve()
    const rows = document.querySelectorAll('#table tbody tr').length
    escape()
    return { rows, left: document.activeElement !== field }
  })
  assert.deepEqual(left, { rows: 9, left: true })
}))

test('focus is visible wherever Tab goes', () => on({}, async (page) => {
  await page.locator('.tabs').waitFor()
  const seen = new Set()
  for (let i = 0; i < 14; i++) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate(() => {
      const e = document.activeElement
      const style = getComputedStyle(e)
      return { what: e.id || e.textContent.trim().slice(0, 20) || e.tagName, ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1, body: e === document.body }
    })
    if (!at.body) assert.ok(at.ring, `${at.what} has focus and shows none`)
    seen.add(at.what)
  }
  for (const what of ['field', 'Decisions']) assert.ok(seen.has(what), `Tab does not come to ${what}: ${[...seen].join(', ')}`)
}))

for (const [width, height] of [[1440, 900], [390, 844]]) {
  for (const theme of ['dark', 'light']) {
    test(`nothing keeps people out at ${width}×${height}, ${theme}`, () => on({ width, height, theme }, async (page) => {
      for (const view of ['waiting', 'decisions', 'consolidation', 'node/default-00001', 'pools', 'pool/default']) {
        await page.evaluate((v) => { location.hash = '/' + v }, view)
        await page.waitForFunction(() => document.querySelector('.list').textContent.length > 5 && !/Planning|Reading/.test(document.querySelector('.list').textContent))
        await page.evaluate(axe)
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }))
        assert.deepEqual(violations.map((v) => `${view}: ${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`), [])
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} is wider than the page`)
      }
    }))
  }
}
