// Package catalogfile says what can be bought where no cloud is asked: [Read] reads a catalog somebody wrote, and
// [BuiltIn] is the one built in, the instance types of one region with their list prices.
//
// A file has instance types as nodes see them and holds for every class. The built-in one has instances, of which each
// class makes its own types by core/offering, as it does of the region's.
//
//	types, err := catalogfile.Read("catalog.json.gz")
//	region, err := catalogfile.BuiltIn()
//	types := region.WithZones([]string{"eu-west-1a", "eu-west-1b"}).Types(class)
package catalogfile
