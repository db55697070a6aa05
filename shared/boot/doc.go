// Package boot is what every program does before its own work: settings from the environment into a struct, a logger, an
// AWS configuration. Programs import it; nothing else does.
//
//	var settings struct {
//		Table string `env:"JOINER_TABLE,required"`
//	}
//	boot.LoadSettings(&settings)  // prints what is missing and exits, loudly
//	logger := boot.Logger("provision")
package boot
