// What somebody sees at a glance: U9 and U47 to U58. Of the cluster of files.test.mjs, and of states that a test makes up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, until } from './page.mjs'

// spy keeps the texts that canvases are drawn with: those of the nodes, and those of the chart.
const spy = (page) => page.addInitScript(() => {
  globalThis.drawn = { nodes: [], chart: [] }
  const write = CanvasRenderingContext2D.prototype.fillText
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawn[this.canvas.id === 'field' ? 'nodes' : 'chart'].push(text)
    return write.call(this, text, ...rest)
  }
})

async function on({ before = async () => {}, ...options }, steps) {
  const { browser, page, trouble } = await open({ ...options, before: async (p) => { await spy(p); await before(p) } })
  try {
    await steps(page)
    assert.deepEqual(trouble, [])
  } finally {
    await browser.close()
  }
}

const at = Math.floor(Date.now() / 1000)

const node = (n, more = {}) => ({
  id: `web-${n}`, n: `ip-10-0-0-${n}.us-west-2.compute.internal`, p: 'web', z: 'us-west-2a', t: 'm7i.large', c: 'spot', s: 'ready',
  u: 900, uh: 1900, m: 2048, mh: 7168, k: 4, d: 40000, b: at - 900, ...more,
})

// made answers with a state of the test's own instead of the server's.
const made = (state, answers = {}) => async (page) => {
  const all = {
    v: 1, about: { cluster: 'made', from: 'a test', live: true, at, heartbeat: at, span: 86400, replays: false, stopped: [], warnings: [] },
    totals: { nodes: { ready: state.nodes?.length ?? 0 }, others: 0, bound: 0, waiting: 0, cpu: 0, cpuHas: 0, memory: 0, memoryHas: 0, price: 0, unpriced: 0 },
    nodes: [], waiting: [], entries: [], prices: [], ...state,
  }
  await page.route('**/api/events', (route) => route.fulfill({ contentType: 'text/event-stream', body: `retry: 600000\nevent: state\nid: 1\ndata: ${JSON.stringify(all)}\n\n` }))
  const others = { saving: { at, before: 0, after: 0, nodes: 0 }, pools: [], ...answers }
  for (const [name, answer] of Object.entries(others)) await page.route(`**/api/${name}`, (route) => route.fulfill({ json: answer }))
}

const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))

test('U47: a node says its name, type, price and load without being pointed at', () => on({}, async (page) => {
  await until(page, 'the nodes', (now) => now.Nodes === '9')
  await settled(page)
  const texts = await page.evaluate(() => drawn.nodes)
  for (const word of ['ip-10-0-0-1', 'ip-10-0-0-9', 'm7i.2xlarge', '$0.4032/h', 'CPU', 'Mem']) assert.ok(texts.includes(word), `${word} is not among ${texts.join(' | ')}`)
  assert.ok(texts.some((t) => /^\d+%$/.test(t)), 'no share is written')
  assert.ok(!texts.some((t) => t.includes('compute.internal')), 'a name has the domain that all share')
}))

test('U47: of more than sixty nodes a larger one has a larger tile', () => on({
  before: made({ nodes: Array.from({ length: 80 }, (_, i) => node(i, i === 0 ? { uh: 15800, u: 15800, m: 7168 } : { uh: 1900, u: 1900, m: 7168 })) }),
}, async (page) => {
  await settled(page)
  const filled = await page.evaluate(() => {
    const canvas = document.getElementById('field')
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    const green = (x, y) => { const o = (y * width + x) * 4; return data[o + 1] > data[o] + 40 }
    // the first tile begins at the left; the next column is beyond it
    let tall = 0, small = 0
    for (let y = 36; y < height && tall === 0; y++) if (green(1, y)) { while (green(1, y + tall)) tall++ }
    for (let x = width - 1; x > 0 && small === 0; x--) for (let y = 36; y < height; y++) if (green(x, y)) { while (green(x, y + small)) small++; break }
    return { tall, small }
  })
  assert.ok(filled.tall > 1.5 * filled.small && filled.small > 5, JSON.stringify(filled))
}))

test('U48: a legend says what the bars are', () => on({}, async (page) => {
  assert.match(await page.locator('.field .legend').innerText(), /bars: CPU and memory requested/)
}))

for (const [nodes, words] of [[80, /left CPU, right memory/], [9000, /the larger of CPU and memory/]]) {
  test(`U48: so it does of ${nodes} nodes`, () => on({ before: made({ nodes: Array.from({ length: nodes }, (_, i) => node(i)) }) }, async (page) => {
    await settled(page)
    assert.match(await page.locator('.field .legend').innerText(), words)
  }))
}

test('U9, U49: what could be saved is on the first screen, worked out once', async () => {
  let asked = 0
  await on({ before: async (page) => { page.on('request', (r) => { if (r.url().includes('/api/saving')) asked++ }) } }, async (page) => {
    await page.locator('.could.good').waitFor()
    const text = await page.locator('.could').innerText()
    for (const word of ['Could save', '$1,159', '61%']) assert.ok(text.includes(word), `${word} is not in ${text}`)
    assert.equal(await page.locator('.tabs a', { hasText: 'Consolidation' }).locator('.badge').innerText(), '61%')
    assert.ok(await page.evaluate(() => [...document.querySelectorAll('.tabs a')].every((a) => a.getBoundingClientRect().right <= innerWidth)), 'a tab is out of sight')
    await page.locator('.could').click()
    await page.getByTestId('savings').getByText('$1,159').waitFor()
    await page.keyboard.press('1')
    assert.equal(asked, 1)
  })
})

test('U50: the words are those of the field', () => on({}, async (page) => {
  await page.keyboard.press('v')
  await page.locator('#table tbody tr').first().waitFor()
  assert.match(await page.locator('#table thead').innerText(), /Capacity type/)
  let said = await page.locator('body').innerText()
  for (const view of ['decisions', 'consolidation', 'plan', 'node/default-00001']) {
    await page.evaluate((v) => { location.hash = '/' + v }, view)
    await page.waitForFunction(() => !/Planning|Reading/.test(document.querySelector('.list').textContent))
    said += await page.locator('body').innerText()
  }
  for (const word of [/how bought/i, /\bbought\b/i, /asked for/i, /giving back/i, /files as they are/i, /nodes came/i, /look again/i, /may be another/i, /← waiting/i]) assert.doesNotMatch(said, word)
}))

test('U51: zones are written one way, in full in the line of their NodePool', () => on({}, async (page) => {
  await until(page, 'the nodes', (now) => now.Nodes === '9')
  await settled(page)
  const texts = await page.evaluate(() => drawn.nodes)
  assert.ok(texts.includes('2a') && texts.includes('2b'), texts.join(' | '))
  const full = texts.filter((t) => t.includes('us-west-2'))
  assert.ok(full.length > 0 && full.every((t) => t.includes('nodes') && t.includes('us-west-2a, us-west-2b')), full.join(' | '))
  await page.keyboard.press('v')
  await page.locator('#table tbody tr').first().waitFor()
  for (const zone of await page.locator('#table tbody tr td:nth-child(3)').allInnerTexts()) assert.match(zone, /^2[a-z]$/)
}))

test('U52: an empty cluster says so, and claims nothing of what is not there', () => on({ before: made({}) }, async (page) => {
  await page.getByText('Joiner launches some when pods are pending').waitFor()
  const head = await page.locator('.stats').innerText()
  for (const word of ['all ready', 'bound to a node', 'of 0', '0/0', 'dry run', '$0.00']) assert.ok(!head.includes(word), `${word} is in ${head}`)
}))

test('U53: what a dry run does to a node is said, in the field and in the table', () => on({ path: '#/consolidation' }, async (page) => {
  await page.locator('.commands > li').first().waitFor()
  assert.match(await page.getByTestId('plan-legend').innerText(), /removed by the plan[\s\S]*receives pods/)
  await page.keyboard.press('v')
  await page.locator('#table tbody tr').first().waitFor()
  assert.match(await page.locator('#table thead').innerText(), /Plan/)
  const plan = await page.locator('#table tbody tr td:last-child').allInnerTexts()
  assert.equal(plan.filter((p) => p === 'removed').length, 5, plan.join())
  assert.ok(plan.includes('receives pods'), plan.join())
}))

test('U53: nodes that receive pods are known also where the dry run is answered before the state', () => on({
  path: '#/consolidation',
  before: async (page) => {
    const answered = page.waitForResponse('**/api/dryrun')
    await page.route('**/api/events', async (route) => {
      await answered
      await settled(page)
      await route.continue()
    })
  },
}, async (page) => {
  await page.locator('.commands > li').first().waitFor()
  await page.keyboard.press('v')
  await page.locator('#table tbody tr').first().waitFor()
  await settled(page)
  const plan = await page.locator('#table tbody tr td:last-child').allInnerTexts()
  assert.ok(plan.includes('receives pods'), plan.join())
}))

const ended = (n, more = {}) => ({
  id: `end-${n}`, kind: 'removal', at: 1_772_366_400 + n, title: `ip-10-0-0-${n}.us-west-2.compute.internal terminated`, trigger: 'NodePool amd64 was deleted',
  pods: 2, nodes: 1, failed: 0, left: 0, price: -153000, pools: ['amd64'], by: 'people', ...more,
})
const idle = (n) => ({ id: `idle-${n}`, kind: 'provision', at: 1_772_366_300 + n, title: 'nothing launched, 3 pods pending', pods: 3, nodes: 0, failed: 0, left: 3, price: 0 })

test('U54: decisions of one cause and minute are one row, and only what nobody wanted is red', () => on({
  path: '#/decisions',
  before: made({ nodes: [node(1)], entries: [
    ended(90, { by: 'aws', trigger: 'SpotInterrupted: AWS takes the spot capacity back' }), ...Array.from({ length: 27 }, (_, i) => ended(27 - i)), idle(9), idle(6), idle(3),
  ] }),
}, async (page) => {
  const rows = page.locator('.timeline > li')
  assert.equal(await rows.count(), 3)
  assert.match(await rows.nth(1).innerText(), /27 nodes terminated[\s\S]*−\$4\.13\/h[\s\S]*NodePool amd64 was deleted/)
  assert.match(await rows.nth(2).innerText(), /3 runs without effect/)
  assert.equal(await rows.nth(0).locator('.entry.lost').count(), 1)
  assert.equal(await rows.nth(1).locator('.entry.asked').count(), 1)
  await rows.nth(1).locator('summary').click()
  assert.equal(await rows.nth(1).locator('.plainlist a').count(), 27)
  assert.equal(await rows.nth(1).locator('.plainlist a').first().innerText(), 'ip-10-0-0-27')
  assert.ok(!(await page.locator('.list').innerText()).includes('compute.internal'))
}))

for (const most of [0.23, 4.11, 7.49, 31.9, 250]) {
  test(`U55: the axis of prices ends above a curve of up to $${most}`, () => on({
    before: made({ nodes: [node(1)], prices: [{ t: at - 7200, d: most * 5e5 }, { t: at - 3600, d: most * 1e6 }, { t: at - 1800, d: most * 3e5 }] }),
  }, async (page) => {
    await page.locator('.plot canvas').waitFor()
    await settled(page)
    await page.waitForFunction(() => drawn.chart.some((t) => t.startsWith('$') && t !== '$0'))
    const labels = (await page.evaluate(() => drawn.chart)).filter((t) => t.startsWith('$')).map((t) => Number(t.slice(1).replace(',', '')))
    const last = labels.slice(labels.lastIndexOf(0))
    assert.ok(Math.max(...last) >= most && Math.max(...last) < 2.5 * most, `labels ${last} for ${most}`)
    assert.ok((await page.locator('.plot').boundingBox()).height >= 120, 'the chart is low')
  }))
}

test('U56: at 390 pixels pending pods come before the chart, and nothing is cut off', () => on({ width: 390, height: 844, path: '#/waiting' }, async (page) => {
  await until(page, 'the nodes', (now) => now.Nodes === '9')
  await page.locator('.could.good').waitFor()
  const top = async (what) => (await page.locator(what).first().boundingBox()).y
  assert.ok(await top('.list') < 700 && await top('.list') < await top('.field') && await top('.tabs') < await top('.chart'), 'the lists are not in reach')
  const cut = await page.evaluate(() => [...document.querySelectorAll('.stat .more, .stat .value, .legend span')].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map((e) => e.textContent))
  assert.deepEqual(cut, [])
  assert.match(await page.locator('.stats').innerText(), /\d\/\d+ GiB/)
  const legend = await page.locator('.field .legend').innerText()
  for (const word of ['launching', 'to be disrupted', 'draining']) assert.ok(legend.includes(word), legend)
  assert.ok(await page.evaluate(() => [...document.querySelectorAll('.tabs a')].every((a) => a.getBoundingClientRect().right <= innerWidth)), 'a tab is out of sight')
  for (const view of ['pool/default', 'node/default-00001', 'consolidation']) {
    await page.evaluate((v) => { location.hash = '/' + v }, view)
    await page.waitForFunction(() => !/Planning|Reading/.test(document.querySelector('.list').textContent))
    const over = await page.evaluate(() => [...document.querySelectorAll('.list *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && e.matches('dd, li, p')).map((e) => e.textContent))
    assert.deepEqual(over, [], view)
  }
}))

test('U56: on a small screen all tabs are in sight', () => on({ width: 1024, height: 768 }, async (page) => {
  await page.locator('.could.good').waitFor()
  assert.ok(await page.evaluate(() => [...document.querySelectorAll('.tabs a')].every((a) => a.getBoundingClientRect().right <= innerWidth)))
}))

test('U57: secondary text has 13 pixels', () => on({}, async (page) => {
  for (const view of ['waiting', 'consolidation', 'node/default-00001', 'pool/default']) {
    await page.evaluate((v) => { location.hash = '/' + v }, view)
    await page.waitForFunction(() => !/Planning|Reading/.test(document.querySelector('.list').textContent))
    const small = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((e) => {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
      return own && !e.matches('code, kbd, .tag, .badge, .names, script, noscript') && parseFloat(getComputedStyle(e).fontSize) < 13
    }).map((e) => `${e.tagName} ${e.className}: ${e.textContent.slice(0, 30)}`))
    assert.deepEqual(small, [], view)
  }
}))

test('U58: a node leads to its NodePool, and to kubectl', () => on({ path: '#/node/default-00001' }, async (page) => {
  await page.getByText('kubectl describe node ip-10-0-0-1.us-west-2.compute.internal', { exact: true }).waitFor()
  await page.getByText('kubectl describe nodeclaim default-00001', { exact: true }).waitFor()
  await page.locator('.detail .facts a', { hasText: 'default' }).click()
  await page.locator('.detail h2').getByText('default', { exact: true }).waitFor()
  const text = await page.locator('.detail').innerText()
  for (const word of ['ValidationSucceeded', 'NodeClassReady', 'WhenEmptyOrUnderutilized, after 5m', 'nodes 100%', 'at most 9 of 9 nodes', 'instance-category In [c m r]']) assert.ok(text.includes(word), `${word} is not in ${text}`)
  await page.getByRole('button', { name: 'Show its nodes' }).click()
  assert.equal(await page.locator('.search input').inputValue(), 'pool:default')
}))

test('U58: NodePools show what their limits leave', () => on({
  path: '#/pools',
  before: made({ nodes: [node(1)] }, { pools: [{
    name: 'web', class: 'EC2NodeClass al', weight: 0, replicas: null, nodes: 1, price: 40000, policy: 'WhenEmpty', consolidateAfter: '0s', expireAfter: 'Never',
    requirements: [], taints: [], limits: [{ resource: 'cpu', used: '46', limit: '50', share: 0.92 }], budgets: ['nodes 10%'],
    allowed: [{ reasons: ['Empty'], most: 0, busy: 0, of: 1 }], conditions: [{ type: 'NodeClassReady', met: false, message: 'no subnet has the tag' }],
  }] }),
}, async (page) => {
  const card = page.locator('.card.pool')
  assert.match(await card.innerText(), /web[\s\S]*NodeClassReady[\s\S]*46 of 50/)
  assert.equal(await card.locator('.gauge.near').count(), 1)
  await card.click()
  await page.getByText('no subnet has the tag').waitFor()
  assert.match(await page.locator('.detail').innerText(), /no subnet has the tag[\s\S]*at most 0 of 1 node/)
}))
