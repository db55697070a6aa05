import './style.css'
import { render } from 'preact'
import { App } from './app'
import { store } from './store'
import { startTheme } from './theme'

startTheme()
store.start()
const app = document.getElementById('app')!
app.replaceChildren() // what it says until now
render(<App />, app)
