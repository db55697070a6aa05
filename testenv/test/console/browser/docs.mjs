// Looks at the site of docs in Chromium: docs.mjs SITE PICTURES PAGE…
//
// Serves SITE on loopback and opens each page. Fails if a page asks any other host for anything, if the console of the browser has an error, if a
// diagram is not drawn, or if the search finds nothing. Writes a picture of each page into PICTURES.

import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { extname, join, normalize } from 'node:path'
import { chromium } from 'playwright-core'

const [site, pictures, ...pages] = process.argv.slice(2)
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml', '.png': 'image/png' }
const server = createServer(async (request, answer) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname))
  try {
    const body = await readFile(join(site, path.endsWith('/') ? path + 'index.html' : path))
    answer.writeHead(200, { 'content-type': types[extname(path)] ?? 'text/html' }).end(body)
  } catch {
    answer.writeHead(404).end()
  }
})
await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
const home = `http://127.0.0.1:${server.address().port}/`
const problems = []

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce' })).newPage()
await page.route('**/*', (route) => {
  const url = route.request().url()
  if (url.startsWith(home) || url.startsWith('data:') || url.startsWith('blob:')) return route.continue()
  problems.push(`${page.url()} asks for ${url}`)
  return route.abort()
})
page.on('pageerror', (error) => problems.push(`${page.url()}: ${error}`))
page.on('response', (answer) => { if (answer.status() >= 400) problems.push(`${answer.url()}: ${answer.status()}`) })

for (const name of pages) {
  await page.goto(home + name, { waitUntil: 'networkidle' })
  const wanted = (await (await fetch(home + name)).text()).split('<pre class="mermaid">').length - 1
  if (wanted) {
    await page.waitForFunction((n) => document.querySelectorAll('div.mermaid').length === n, wanted, { timeout: 30000 }).catch(() => {})
    const heights = await page.$$eval('div.mermaid', (all) => all.map((one) => one.getBoundingClientRect().height))
    if (heights.length !== wanted || heights.some((height) => height < 100)) problems.push(`${name}: ${wanted} diagrams, drawn with heights ${heights}`)
  }
  await page.screenshot({ path: `${pictures}/${name.replaceAll('/', '-').replace('.html', '')}.png`, fullPage: false })
  const diagram = page.locator('div.mermaid').first()
  if (wanted) await diagram.screenshot({ path: `${pictures}/${name.replaceAll('/', '-').replace('.html', '')}-diagram.png` })
  console.log(`${name}: ${wanted} diagrams`)
}

await page.goto(home + pages[0], { waitUntil: 'networkidle' })
await page.locator('.md-search__input').first().click()
await page.locator('.md-search__input').first().pressSequentially('consolidation', { delay: 30 })
await page.locator('.md-search-result__item').first().waitFor({ timeout: 30000 }).catch(() => {})
const found = await page.locator('.md-search-result__item').count()
if (!found) problems.push('the search finds nothing')
await page.screenshot({ path: `${pictures}/search.png` })
console.log(`search: ${found} results`)

await browser.close()
server.close()
if (problems.length) {
  console.error(problems.join('\n'))
  process.exit(1)
}
