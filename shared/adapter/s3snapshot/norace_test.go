//go:build !race

package s3snapshot

const raceDetector = false
