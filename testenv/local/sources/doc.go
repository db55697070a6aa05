// Package sources finds the sources of this project at run time: tests and programs read templates, charts and
// modules from there. It needs no path that the compiler wrote down, and so works in binaries built with -trimpath.
//
//	root, err := sources.Repository()
//	if err != nil {
//		return err
//	}
//	text, err := os.ReadFile(filepath.Join(root, "infra", "cdk", "templates", "joiner.json"))
package sources
