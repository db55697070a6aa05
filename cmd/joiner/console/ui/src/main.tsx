import './style.css'
import { render } from 'preact'
import { App } from './app'
import { store } from './store'
import { startTheme } from './theme'

startTheme()
store.start()
render(<App />, document.getElementById('app')!)
