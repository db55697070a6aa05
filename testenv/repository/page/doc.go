// Package page is what programs share that write pages of docs/reference from data and code: their command line, the
// cells of tables, and the comparison with what is committed.
//
//	var pages = page.Set{"settings.md": settings}
//
//	func main() { page.Main("referencedoc", pages) }
package page
