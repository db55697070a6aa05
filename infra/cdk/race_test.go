//go:build race

package main

const racing = true // the race detector is on
