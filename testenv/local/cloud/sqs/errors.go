package sqs

import "github.com/joiner-sh/joiner/testenv/local/cloud/wire"

// SQS has two names for most errors: the shape of its JSON model and the code
// of the Query protocol it used to speak, which clients still report.

func sqsError(shape, queryCode, format string, args ...any) *wire.Error {
	e := wire.Errorf(shape, format, args...)
	e.QueryCode = queryCode
	return e
}

func missing(parameter string) *wire.Error {
	return sqsError("MissingParameter", "MissingParameter", "The request must contain the parameter %s.", parameter)
}

func invalid(format string, args ...any) *wire.Error {
	return sqsError("InvalidParameterValue", "InvalidParameterValue", format, args...)
}

func invalidFor(value any, parameter, reason string) *wire.Error {
	return invalid("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

func errNoQueue() *wire.Error {
	return sqsError("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
}

func errQueueExists(attribute string) *wire.Error {
	return sqsError("QueueNameExists", "QueueAlreadyExists",
		"A queue already exists with the same name and a different value for attribute %s", attribute)
}

func errDeletedRecently() *wire.Error {
	return sqsError("QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently",
		"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
}

func errPurgeInProgress(name string) *wire.Error {
	return sqsError("PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress",
		"Only one PurgeQueue operation on %s is allowed every 60 seconds.", name)
}

func errAttributeName(name string) *wire.Error {
	return sqsError("InvalidAttributeName", "InvalidAttributeName", "Unknown Attribute %s.", name)
}

func errAttributeValue(name string) *wire.Error {
	return sqsError("InvalidAttributeValue", "InvalidAttributeValue", "Invalid value for the parameter %s.", name)
}

func errReceipt() *wire.Error {
	return sqsError("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
}

func errExpired(handle string) *wire.Error {
	return invalidFor(handle, "ReceiptHandle", "The receipt handle has expired.")
}

func errNotInFlight() *wire.Error {
	return sqsError("MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", "The message referred to is not in flight.")
}

func errOverLimit() *wire.Error {
	e := sqsError("OverLimit", "OverLimit", "Too many messages in flight.")
	e.Status = 403
	return e
}

func errUnsupported(format string, args ...any) *wire.Error {
	return sqsError("UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", format, args...)
}

func errContents() *wire.Error {
	return sqsError("InvalidMessageContents", "InvalidMessageContents", "Message contains characters outside the allowed set.")
}

func batchError(kind, format string, args ...any) *wire.Error {
	return sqsError(kind, "AWS.SimpleQueueService."+kind, format, args...)
}
