package kube

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePorts returns n different loopback ports that nothing listens on now.
// They lie below the range systems take the ports of outgoing connections
// from, so that only another listener can take one before its program does.
func FreePorts(n int) ([]int, error) {
	const lowest, span, tries = 20000, 10000, 200
	var ports []int
	for range tries {
		port := lowest + rand.IntN(span)
		l, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close() // hold it, so that it is not found twice
		ports = append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("find free ports: " + fmt.Sprintf("%d tries in %d to %d", tries, lowest, lowest+span-1))
}
