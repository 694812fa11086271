"""The tool definitions of `function_to_tool` and `type_to_json_schema`."""
