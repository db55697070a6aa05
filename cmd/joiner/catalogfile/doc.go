// Package catalogfile says what can be bought where no cloud is asked: [File] reads a catalogue somebody wrote, and
// [Sandbox] is the one built in, the machine types of one region with their list prices.
//
// A file has instance types as nodes see them and holds for every class. The built-in one has machines, of which each
// class makes its own types by core/offering, as it does of the region's.
//
//	types, err := catalogue.File("catalog.json.gz")
//	sandbox, err := catalogue.Sandbox()
//	types := sandbox.Moved([]string{"eu-west-1a", "eu-west-1b"}).Types(class)
package catalogfile
