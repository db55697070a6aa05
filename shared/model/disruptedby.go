package model

import (
	"fmt"
	"regexp"
	"strconv"
)

// DisruptedBy says on a NodeClaim that its node is disrupted by a command: how many nodes the command has, and how many
// instances take their place.
func DisruptedBy(command string, nodes, replacements int) string {
	return fmt.Sprintf("the node is disrupted by command %s (%d for %d)", command, nodes, replacements)
}

var disruptedBy = regexp.MustCompile(`^the node is (?:disrupted|given back) by command (\S+) \((\d+) for (\d+)\)`)

// ParseDisruptedBy reads what begins with a text of DisruptedBy; not ok for any other.
func ParseDisruptedBy(text string) (command string, nodes, replacements int, ok bool) {
	match := disruptedBy.FindStringSubmatch(text)
	if match == nil {
		return "", 0, 0, false
	}
	nodes, err := strconv.Atoi(match[2])
	if err != nil {
		return "", 0, 0, false
	}
	replacements, err = strconv.Atoi(match[3])
	return match[1], nodes, replacements, err == nil
}
