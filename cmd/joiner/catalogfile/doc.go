// Package catalogfile says what can be bought where no cloud is asked: [File] reads a catalog somebody wrote, and
// [Sandbox] is the one built in, the instance types of one region with their list prices.
//
// A file has instance types as nodes see them and holds for every class. The built-in one has instances, of which each
// class makes its own types by core/offering, as it does of the region's.
//
//	types, err := catalog.File("catalog.json.gz")
//	sandbox, err := catalog.Sandbox()
//	types := sandbox.Moved([]string{"eu-west-1a", "eu-west-1b"}).Types(class)
package catalogfile
