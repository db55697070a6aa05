package eventsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// batchResponse is what a function with ReportBatchItemFailures returns.
type batchResponse struct {
	BatchItemFailures []struct {
		ItemIdentifier *string `json:"itemIdentifier"`
	} `json:"batchItemFailures"`
}

// itemFailures returns the ids of the messages that failed, out of those of the batch. A null or empty response or list is
// full success. The error means that the whole batch failed, for the response is no batch response or names a message
// that is not in the batch.
func itemFailures(payload []byte, batch []string) ([]string, error) {
	payload = bytes.TrimSpace(payload)
	if len(payload) == 0 || string(payload) == "null" || string(payload) == `""` {
		return nil, nil
	}
	var response batchResponse
	if err := json.Unmarshal(payload, &response); err != nil {
		return nil, fmt.Errorf("read batch response: %w", err)
	}
	var failed []string
	for _, item := range response.BatchItemFailures {
		if item.ItemIdentifier == nil || *item.ItemIdentifier == "" {
			return nil, errors.New("read batch response: an item without identifier")
		}
		if !slices.Contains(batch, *item.ItemIdentifier) {
			return nil, fmt.Errorf("read batch response: message %s is not in the batch", *item.ItemIdentifier)
		}
		failed = append(failed, *item.ItemIdentifier)
	}
	return failed, nil
}
