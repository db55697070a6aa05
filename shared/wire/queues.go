package wire

import "strings"

// QueueName is the name of a queue, of its ARN or its URL.
func QueueName(of string) string { return of[strings.LastIndexAny(of, ":/")+1:] }
