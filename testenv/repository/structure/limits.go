package structure

// What code is to keep to. What is beyond a limit stands in a file of exceptions, with its value, and may only fall.
const (
	MaxColumns       = 120 // of a line, a tab being four
	MaxFunctionLines = 60
	MaxMethods       = 30 // of a type
	MaxCirclePercent = 40 // of a package's files, from SmallestCircled files on
	SmallestCircled  = 5
	MaxFanOut        = 12 // packages of the repository that one imports
)

// Shipped are the folders whose code ships.
var Shipped = []string{"shared", "functions", "cmd"}
