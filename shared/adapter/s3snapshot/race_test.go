//go:build race

package s3snapshot

// raceDetector: the race detector keeps memory of its own for each word of the program.
const raceDetector = true
