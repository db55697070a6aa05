// Package structure measures how code is put together: methods of each type, circles of files that refer to each other,
// imports between packages, length and complexity of functions, long lines, doc comments, and blocks that stand twice.
//
//	tree, err := structure.Read("..")
//	for _, p := range tree.Packages {
//		fmt.Println(p.Folder, len(p.Files), p.Circle, p.Imports)
//	}
//	fmt.Print(structure.Report(tree, nil))
//
// Read needs the source alone, neither a build nor a network: the types of the repository and of the standard library
// are checked from their source, and names of other modules stay unknown. Tests and generated files are left out, but
// for the lines of tests that are too long.
//
// Tree.Excess lists what is beyond the limits, and Compare holds it against a file of exceptions
// (testenv/structure.csv).
package structure
